import { systemClock } from '../../platform/clock/index.ts';
import { clientKey } from '../../platform/network/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Checks, CheckOrder } from './authenticate.ts';
import { answerQuestion, type DnsQuestion } from './dns-questions.ts';
import type { Arrival } from './inbound-message.ts';
import type { ContentSource } from './message-content.ts';
import { createMessageThread } from './message-thread.ts';

export interface Authenticator {
  /** SPF, DKIM, DMARC and ARC of a message. Beyond the limits of time and size the results are `temperror`; never rejects. */
  authenticate(arrival: Arrival): Promise<Checks>;
  close(): Promise<void>;
}

type Answer = { checks: Checks } | { failed: string };

/** Each signature costs a hash of the message; honest messages have fewer. */
const SIGNATURES_MAX = 20;
/** The cost of folds in one field is quadratic: fifty thousand of them, 200 KB, take 15 seconds. */
const FOLDS_MAX = 10_000;
/** The parser's limit of headers (`parse-message.ts`). */
const HEAD_BYTES_MAX = 512 * 1024;
/** Within these limits a check takes tens of milliseconds at most; a hostile message beyond them can take minutes. */
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
 * The checks run in threads, because a hostile message of a few megabytes can keep them busy for minutes. Ordinary messages
 * share a thread; costly ones are checked one at a time, within a limit of time.
 */
export function createAuthenticator(world: World): Authenticator {
  const { config, log, resolver } = world;
  const threadFor = (atOnce: number) =>
    createMessageThread<CheckOrder & { source: ContentSource }, Answer>({
      module: 'src/mail/receive/authentication-thread.ts',
      ...{ clock: systemClock, limitMs: config.receiving.judge_seconds * 1000, atOnce },
      late: (because) => ({ failed: because }),
      answerQuestion: (question) => answerQuestion(resolver, question as DnsQuestion),
    });
  const ordinary = threadFor(ORDINARY_AT_ONCE);
  const costly = Array.from({ length: COSTLY_THREADS }, () => threadFor(1));

  function threadOf({ content }: Arrival, { headBytes, signatures }: Head) {
    const hashedBytes = content.bytes * Math.max(1, signatures);
    if (headBytes <= ORDINARY_HEAD_BYTES && hashedBytes <= ORDINARY_HASHED_BYTES) return ordinary;
    return costly.reduce((least, one) => (one.waiting() < least.waiting() ? one : least));
  }

  return {
    async authenticate(arrival) {
      const { content, mailFrom, client } = arrival;
      const head = headIn(await content.head(HEAD_BYTES_MAX), content.bytes);
      if (!head || head.signatures > SIGNATURES_MAX || head.folds > FOLDS_MAX) return NOTHING_KNOWN;
      const order = { source: content.source, mailFrom, client, host: config.instance.host };
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
  /** The folds of the field with the most. */
  folds: number;
}

/** Lines that do not match continue the field above them. */
const FIELD_BEGINS = /^[!-9;-~]+[ \t]*:/;

/** Undefined where the head is larger than the limit. */
function headIn(top: Buffer, bytes: number): Head | undefined {
  const end = top.indexOf('\r\n\r\n');
  if (end < 0 && bytes > HEAD_BYTES_MAX) return undefined;
  const head = top.toString('latin1', 0, end < 0 ? top.length : end);
  const signatures = head.match(/^(?:dkim-signature|arc-message-signature)[ \t]*:/gim)?.length ?? 0;
  let [folds, most] = [0, 0];
  for (const line of head.split('\n')) {
    folds = FIELD_BEGINS.test(line) ? 0 : folds + 1;
    most = Math.max(most, folds);
  }
  return { headBytes: head.length, signatures, folds: most };
}
