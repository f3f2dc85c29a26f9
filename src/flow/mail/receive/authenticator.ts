import { systemClock } from '../../../platform/clock/index.ts';
import { clientKey } from '../../../platform/network/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Checks, CheckOrder } from './authenticate.ts';
import { answerQuestion, type DnsQuestion } from './dns-questions.ts';
import type { Arrival } from './inbound-message.ts';
import { createMessageThread } from './message-thread.ts';

export interface Authenticator {
  /** SPF, DKIM, DMARC and ARC of a message. What cannot be found out within its limits is said as such and never an error. */
  authenticate(arrival: Arrival): Promise<Checks>;
  close(): Promise<void>;
}

type Answer = { checks: Checks } | { failed: string };

/** Who signs more than this does not want to be believed, and each signature costs a hash of the message. */
const SIGNATURES_MAX = 20;
/** Folds of one field cost their square: fifty thousand of them, in 200 KB, a quarter of a minute. */
const FOLDS_MAX = 10_000;
/** As much as is read of a message (`parse-message.ts`). */
const HEAD_BYTES_MAX = 512 * 1024;
/** Up to these, a check takes some tens of milliseconds whatever is in the message; beyond, minutes when it is made for that. */
const ORDINARY_HEAD_BYTES = 32 * 1024;
const ORDINARY_HASHED_BYTES = 512 * 1024;
/** Checks wait for DNS most of the time. */
const ORDINARY_AT_ONCE = 200;
const COSTLY_THREADS = 2;

const NOTHING_KNOWN: Checks = {
  spf: { result: 'temperror', domain: null },
  dkim: [],
  dmarc: { result: 'temperror', domain: null, policy: null },
  arc: { result: 'none' },
};

/**
 * The checks run in threads of their own, because a message of a few megabytes can be made to keep them busy for minutes.
 * Ordinary ones share a thread; what may be costly is looked at one at a time, within its time.
 */
export function createAuthenticator(world: World): Authenticator {
  const { config, log, resolver } = world;
  const threadFor = (atOnce: number) =>
    createMessageThread<CheckOrder, Answer>({
      url: new URL('./authentication-thread.ts', import.meta.url),
      ...{ clock: systemClock, limitMs: config.receiving.judge_seconds * 1000, atOnce },
      late: (because) => ({ failed: because }),
      answerQuestion: (question) => answerQuestion(resolver, question as DnsQuestion),
    });
  const ordinary = threadFor(ORDINARY_AT_ONCE);
  const costly = Array.from({ length: COSTLY_THREADS }, () => threadFor(1));

  function threadOf({ raw }: Arrival, { headBytes, signatures }: Head) {
    const hashedBytes = raw.length * Math.max(1, signatures);
    if (headBytes <= ORDINARY_HEAD_BYTES && hashedBytes <= ORDINARY_HASHED_BYTES) return ordinary;
    return costly.reduce((least, one) => (one.waiting() < least.waiting() ? one : least));
  }

  return {
    async authenticate(arrival) {
      const { raw, mailFrom, client } = arrival;
      const head = headIn(raw);
      if (!head || head.signatures > SIGNATURES_MAX || head.folds > FOLDS_MAX) return NOTHING_KNOWN;
      const order = { raw, mailFrom, client, host: config.instance.host };
      const answer = await threadOf(arrival, head)
        .ask(clientKey(client.address), order)
        .catch((error: Error) => ({ failed: error.message }));
      if ('checks' in answer) return answer.checks;
      log.warn({ because: answer.failed }, 'SPF, DKIM and DMARC of a message could not be checked');
      return NOTHING_KNOWN;
    },
    close: async () => void (await Promise.all([ordinary, ...costly].map((thread) => thread.close()))),
  };
}

interface Head {
  headBytes: number;
  signatures: number;
  /** Of the field that has most. */
  folds: number;
}

/** Any other line belongs to the field above it. */
const FIELD_BEGINS = /^[!-9;-~]+[ \t]*:/;

/** Nothing where it is larger than any that is looked at. */
function headIn(raw: Buffer): Head | undefined {
  const end = raw.subarray(0, HEAD_BYTES_MAX).indexOf('\r\n\r\n');
  if (end < 0 && raw.length > HEAD_BYTES_MAX) return undefined;
  const head = raw.toString('latin1', 0, end < 0 ? raw.length : end);
  const signatures = head.match(/^(?:dkim-signature|arc-message-signature)[ \t]*:/gim)?.length ?? 0;
  let [folds, most] = [0, 0];
  for (const line of head.split('\n')) {
    folds = FIELD_BEGINS.test(line) ? 0 : folds + 1;
    most = Math.max(most, folds);
  }
  return { headBytes: head.length, signatures, folds: most };
}
