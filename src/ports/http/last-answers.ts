import type { IncomingMessage, ServerResponse } from 'node:http';

export interface LastAnswers {
  /** Called for every request before it is answered. */
  note(request: IncomingMessage, response: ServerResponse): void;
  /** From here on every answer ends its connection, those that are under way among them. */
  begin(): void;
}

/**
 * A server that closes ends the connections that are idle at that moment. One that is being answered then would be kept for the
 * client's next request, and the stop would wait for it until its grace is over.
 */
export function createLastAnswers(): LastAnswers {
  const underWay = new Map<ServerResponse, IncomingMessage>();
  let isClosing = false;
  const end = (request: IncomingMessage, response: ServerResponse): void => {
    if (!response.headersSent) response.shouldKeepAlive = false;
    else response.once('finish', () => request.socket.destroySoon());
  };
  return {
    note(request, response) {
      if (isClosing) return end(request, response);
      underWay.set(response, request);
      response.once('close', () => underWay.delete(response));
    },
    begin() {
      isClosing = true;
      for (const [response, request] of underWay) end(request, response);
    },
  };
}
