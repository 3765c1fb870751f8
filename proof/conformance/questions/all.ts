import type { Question } from '../question.js'
import { encodings } from './encodings.js'
import { http } from './http.js'
import { lifecycles } from './lifecycles.js'
import { reads } from './reads.js'
import { refusals } from './refusals.js'
import { simulations } from './simulations.js'

export const questions: readonly Question[] = [
  ...http,
  ...reads,
  ...simulations,
  ...refusals,
  ...encodings,
  ...lifecycles,
]
