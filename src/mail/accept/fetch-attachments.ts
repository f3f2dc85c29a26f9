import type { FetchAnswer, FetchFault } from '../../platform/fetch/index.ts';
import type { Refusal } from '../../platform/refusal.ts';
import type { World } from '../../platform/world.ts';
import { callerGone } from '../../tenancy/access/index.ts';
import { invalidAttachment, sizeOfFile, type DraftAttachment, type EmailDraft } from '../emails/index.ts';

/** Concurrent fetches of one request, few enough for a server that has many of its files. */
const AT_ONCE_MAX = 6;

/** URLs that one request may name: a call must not cause thousands of fetches. As many as one email may have files. */
const SOURCES_MAX = 100;

/** A URL that many emails of a batch name is fetched once. */
interface Source {
  url: URL;
  uses: { draft: number; attachment: DraftAttachment }[];
}

/**
 * Fetches the files that are named by URLs, for all emails of one request together: under one limit of bytes, which
 * also counts files sent with the request, and one limit of time. Throws the first refusal; the other fetches are then
 * aborted.
 */
export async function fetchAttachments(
  world: World,
  drafts: readonly Pick<EmailDraft, 'attachments'>[],
  whenGone?: () => AbortSignal,
): Promise<void> {
  const faults = await fetchAttachmentsOfEach(world, drafts, { stopsAtFirst: true, whenGone });
  const fault = faults.find((one) => one !== undefined);
  if (fault) throw fault;
}

/**
 * Fetches the files of several emails, and returns the refusal of each email, if any; the others have all their files.
 * Throws when the caller has gone, as the files are no longer needed.
 */
export async function fetchAttachmentsOfEach(
  world: World,
  drafts: readonly Pick<EmailDraft, 'attachments'>[],
  { stopsAtFirst = false, whenGone }: { stopsAtFirst?: boolean; whenGone?: (() => AbortSignal) | undefined } = {},
): Promise<(Refusal | undefined)[]> {
  const faults = drafts.map((): Refusal | undefined => undefined);
  if (drafts.every((draft) => draft.attachments.length === 0)) return faults;
  const { limit_bytes: limitBytes, fetch_seconds: seconds } = world.config.attachments;
  const budget = createBudget(limitBytes);
  for (const [i, { attachments }] of drafts.entries()) {
    const taken: number[] = [];
    const heaviest = attachments.find((file) => !budget.take(sizeOfFile(file)) || !taken.push(sizeOfFile(file)));
    if (!heaviest) continue;
    faults[i] = tooLarge(heaviest, limitBytes);
    // A refused email leaves its share to the others.
    for (const bytes of taken) budget.give(bytes);
  }
  if (stopsAtFirst && faults.some((fault) => fault !== undefined)) return faults;
  const waiting = collectSources(drafts);
  if (waiting.length === 0) return faults;
  for (const { uses } of waiting.splice(SOURCES_MAX)) {
    for (const { draft, attachment } of uses) faults[draft] ??= tooManySources(attachment);
  }
  if (stopsAtFirst && faults.some((fault) => fault !== undefined)) return faults;
  const stop = new AbortController();
  const gone = whenGone?.();
  const signal = gone ? AbortSignal.any([stop.signal, gone]) : stop.signal;
  const cancel = world.clock.timer(seconds * 1000, () => stop.abort());
  const work = async (): Promise<void> => {
    for (let source = waiting.shift(); source; source = waiting.shift()) {
      // An email that is refused already needs no more files.
      const uses = source.uses.filter(({ draft }) => faults[draft] === undefined);
      if (uses.length === 0) continue;
      let taken = 0;
      const mayTake = (bytes: number): boolean => {
        if (!budget.take(bytes * uses.length)) return false;
        taken += bytes * uses.length;
        return true;
      };
      const answer = await world.fetch.get(source.url, { signal, mayTake });
      if (stopsAtFirst && faults.some((fault) => fault !== undefined)) return;
      for (const { draft, attachment } of uses) {
        if (answer.kind === 'fetched') attachment.content = answer.content;
        else faults[draft] ??= toRefusal(attachment, answer, world);
      }
      if (answer.kind === 'fetched') continue;
      budget.give(taken);
      if (stopsAtFirst) return stop.abort();
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE_MAX }, work));
  } finally {
    cancel();
  }
  if (gone?.aborted) throw callerGone();
  return faults;
}

function collectSources(drafts: readonly Pick<EmailDraft, 'attachments'>[]): Source[] {
  const sources = new Map<string, Source>();
  for (const [draft, { attachments }] of drafts.entries()) {
    for (const attachment of attachments) {
      const url = attachment.source;
      if (url === null) continue;
      const source = sources.get(url.href) ?? { url, uses: [] };
      source.uses.push({ draft, attachment });
      sources.set(url.href, source);
    }
  }
  return [...sources.values()];
}

function createBudget(bytesMax: number): { take: (bytes: number) => boolean; give: (bytes: number) => void } {
  let left = bytesMax;
  return {
    take(bytes) {
      if (bytes > left) return false;
      left -= bytes;
      return true;
    },
    give(bytes) {
      left += bytes;
    },
  };
}

const tooLarge = ({ field, source }: DraftAttachment, limitBytes: number): Refusal => {
  const path = `${field}.${source === null ? 'content' : 'path'}`;
  return invalidAttachment(
    path,
    `${path} is too large: the attachments of one request may have at most ${limitBytes} bytes together.`,
  );
};

function tooManySources({ field }: DraftAttachment): Refusal {
  const path = `${field}.path`;
  return invalidAttachment(path, `${path} exceeds the limit of ${SOURCES_MAX} different URLs in a request.`);
}

function toRefusal(attachment: DraftAttachment, { fault, because }: FetchAnswer & { kind: 'failed' }, world: World) {
  const { limit_bytes: limitBytes, fetch_seconds: seconds } = world.config.attachments;
  if (fault.kind === 'too_large') return tooLarge(attachment, limitBytes);
  const path = `${attachment.field}.path`;
  return invalidAttachment(path, `${path} could not be fetched: ${inWords(fault, seconds)}`, because);
}

function inWords(fault: Exclude<FetchFault, { kind: 'too_large' }>, seconds: number): string {
  switch (fault.kind) {
    case 'blocked':
      return 'its name does not resolve, or the URL or a redirect does not lead to https on a public address.';
    case 'unreachable':
      return 'its server cannot be reached.';
    case 'tls':
      return `no trusted TLS connection could be made with its server (${fault.code}).`;
    case 'status':
      return `its server responded with status ${fault.status} instead of 200.`;
    case 'too_many_redirects':
      return `it redirects more than ${fault.max} times.`;
    case 'encoded':
      return `its server sent the content encoding ${JSON.stringify(fault.encoding)} although none was requested.`;
    case 'interrupted':
      return 'its server closed the connection before the file was complete.';
    case 'timeout':
      return `the files of a request must arrive within ${seconds} seconds.`;
  }
}
