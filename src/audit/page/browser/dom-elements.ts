/** Makes DOM elements. Text is always set as text, so the browser never reads a caller's text as markup. */

type Child = Node | string | undefined

/** @param named its tag, and its classes after it: `span.note` */
export function element(named: string, ...children: readonly Child[]): HTMLElement {
  const [tag, ...classes] = named.split(/[. ]/)
  const made = document.createElement(tag!)
  made.classList.add(...classes)
  made.append(...children.filter(child => child !== undefined))
  return made
}

export function button(text: string, onClick: (button: HTMLElement) => void): HTMLElement {
  const made = element('button', '', text)
  made.setAttribute('type', 'button')
  made.addEventListener('click', () => onClick(made))
  return made
}

export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  return document.getElementById(id) as E
}

export function say(id: string, text: string): void {
  const place = byId(id)
  if (place.textContent !== text) place.textContent = text
}
