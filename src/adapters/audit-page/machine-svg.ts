/** The machine's layout as SVG. Every move has its name in `data-step`, so that the page can write its count there. */
import type { Table } from '../../domain/state-machine/transition-table.js'
import {
  BOX,
  EXIT,
  type Form,
  lanesOf,
  type PlacedExit,
  type PlacedLink,
  type PlacedState,
} from './machine-layout.js'

export function drawingOf(table: Table, form: Form, className: string): string {
  const { width, height, states, exits, links } = lanesOf(table, form)
  return [
    `<svg class="${className}" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="The ${table.id} machine">`,
    ...links.map(drawnLink),
    ...exits.map(exit => drawnExit(exit, table)),
    ...states.map(drawnState),
    '</svg>',
  ].join('\n')
}

function drawnState({ name, effect, x, y }: PlacedState): string {
  return [
    `<g class="state" data-state="${name}">`,
    `<rect x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="9"/>`,
    `<text class="name" x="${x + 12}" y="${y + 18}">${name}</text>`,
    `<text class="effect" x="${x + 12}" y="${y + 33}">${effect}</text>`,
    '</g>',
  ].join('')
}

function drawnLink({ steps, x, line, tip }: PlacedLink): string {
  const labels = steps.map(
    ({ step, event, y }) =>
      `<text class="move" data-step="${step}" x="${x}" y="${y}"><tspan class="event">${event}</tspan><tspan class="stat" dx="6"></tspan></text>`,
  )
  const names = steps.map(({ step }) => step).join(' ')
  return `<g class="link" data-steps="${names}"><path class="line" d="${line}"/>${tipAt(tip)}</g>${labels.join('')}`
}

function drawnExit({ step, event, to, x, y, line }: PlacedExit, table: Table): string {
  const { status, charged } = table.rows[to]!.meta
  const pillY = y + EXIT.pillTop
  return [
    `<g class="exit ${charged}" data-step="${step}" data-final="${to}">`,
    `<path class="line" d="${line}"/>${tipAt({ x: x + 10, y: pillY })}`,
    `<text class="event" x="${x + 18}" y="${y + 17}">${event}</text>`,
    `<rect x="${x}" y="${pillY}" width="${EXIT.width - 8}" height="${EXIT.pillHeight}" rx="11"/>`,
    `<text class="name" x="${x + 9}" y="${pillY + 15}"><tspan class="status">${status}</tspan> ${to}</text>`,
    `<text class="stat" x="${x + 10}" y="${pillY + EXIT.pillHeight + 12}"></text>`,
    '</g>',
  ].join('')
}

function tipAt({ x, y }: { readonly x: number; readonly y: number }): string {
  return `<path class="tip" d="M${x - 3.5},${y - 6}L${x + 3.5},${y - 6}L${x},${y}Z"/>`
}
