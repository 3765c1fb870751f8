/** Values by their number, the smallest first. */
export class MinHeap {
  #heap = []

  get size() {
    return this.#heap.length
  }

  push(number, value) {
    const heap = this.#heap
    const entry = [number, value]
    let at = heap.push(entry) - 1
    for (; at > 0; at = (at - 1) >> 1) {
      const parent = heap[(at - 1) >> 1]
      if (parent[0] <= number) break
      heap[at] = parent
    }
    heap[at] = entry
  }

  pop() {
    const heap = this.#heap
    const [first] = heap
    const last = heap.pop()
    if (heap.length === 0) return first
    let at = 0
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && heap[child + 1][0] < heap[child][0]) child++
      if (heap[child][0] >= last[0]) break
      heap[at] = heap[child]
      at = child
    }
    heap[at] = last
    return first
  }
}
