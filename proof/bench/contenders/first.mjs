/** Ours with all defaults and nothing beside it: what a process takes until its first answer. */
import { serve } from '../../../dist/src/index.js'
import { agentOf, SERVED } from './agent.mjs'
import { ready } from './child.mjs'

serve(agentOf([]), { ...SERVED, onReady: ({ port }) => ready(port) })
