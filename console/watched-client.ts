import { NoAnswer, type Client } from '../cli/client/index.ts';

export interface Watch {
  heard: () => void;
  silent: (fault: NoAnswer) => void;
}

/** A client that tells whether the server answers; a refusal is an answer too. */
export function watchClient(client: Client, watch: Watch): Client {
  return {
    ...client,
    async call(operation, call, signal) {
      try {
        const answer = await client.call(operation, call, signal);
        watch.heard();
        return answer;
      } catch (error) {
        if (error instanceof NoAnswer) watch.silent(error);
        else if (!signal?.aborted) watch.heard();
        throw error;
      }
    },
  };
}
