import { ApiFault, NoAnswer, type Client, type OperationId } from '../cli/client/index.ts';

export interface Heard {
  /** Where it was a refusal. */
  status?: number;
  body: unknown;
}

export interface Watch {
  /** With what was answered, where the server said it in the way of this API. */
  heard: (operation: OperationId, answer?: Heard) => void;
  /** Since when, where it is not only now that nothing comes. */
  silent: (since?: number) => void;
}

/** A server that is well lists within a second. Of other calls nobody knows how long they take: some ask other machines. */
const LATE_MS = 10_000;
const isQuick = (operation: OperationId): boolean => operation.startsWith('list') || operation === 'getHealth';

/** A client that tells whether the server answers; a refusal is an answer too. */
export function watchClient(client: Client, watch: Watch): Client {
  return {
    ...client,
    // It may move.
    get url() {
      return client.url;
    },
    async call(operation, call, signal) {
      const began = Date.now();
      const late = isQuick(operation) ? setTimeout(() => watch.silent(began), LATE_MS).unref() : undefined;
      try {
        const answer = await client.call(operation, call, signal);
        watch.heard(operation, { body: answer });
        return answer;
      } catch (error) {
        if (error instanceof NoAnswer) watch.silent();
        else if (error instanceof ApiFault) watch.heard(operation, error);
        else if (!signal?.aborted) watch.heard(operation);
        throw error;
      } finally {
        clearTimeout(late);
      }
    },
  };
}
