import type { IncomingMessage, Server, ServerResponse } from 'node:http'

// `Expect: 100-continue`: the client waits with its body until we have looked at the head. Node would say yes
// by itself at once; we say it when the checks that need no body have passed.

const waiting = new WeakSet<IncomingMessage>()

export function answerContinueOurselves(
  server: Server,
  route: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  server.on('checkContinue', (request, response) => {
    waiting.add(request)
    route(request, response)
  })
  server.on('checkExpectation', route)
}

export function allowContinue(request: IncomingMessage, response: ServerResponse): void {
  if (waiting.delete(request)) response.writeContinue()
}
