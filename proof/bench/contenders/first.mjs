/** Ours with all defaults and nothing beside it: what a process takes until its first answer. */
import { serve } from '@svc/sdk'
import { agentOf, SERVED } from './agent.mjs'
import { ready } from './child.mjs'

serve(agentOf([]), { ...SERVED, onReady: ({ port }) => ready(port) })
