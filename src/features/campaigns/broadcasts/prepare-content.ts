import type { Executor } from '../../../platform/db/index.ts';
import { refuse, type Refusal } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { VARIABLES_MAX } from '../../../protocol/content-checks/index.ts';
import { imagesShownIn } from '../../templates/images/index.ts';
import type { BroadcastContent, BroadcastRow } from './broadcasts.store.ts';
import { aroundOf, sourceOf, type Source } from './freeze-broadcast.ts';
import { countChars, prepareBodies, type PreparedBodies } from './text-tasks.ts';

type Written = Pick<BroadcastContent, 'subject' | 'preview_text' | 'ab_test' | 'html' | 'text' | 'template_id'> &
  Pick<BroadcastRow, 'id' | 'team_id'>;

/** All that checks and bodies are made from. */
type Inputs = Awaited<ReturnType<typeof inputsOf>>;

/** The prepared content of a send, and the inputs it was made from. */
export interface PreparedContent extends PreparedBodies {
  inputs: Inputs;
}

/** Undefined where there is no body. */
export async function prepareContent(store: Store, row: Written): Promise<PreparedContent | undefined> {
  const source = await sourceOf(store.db, row);
  return source && prepareFrom(store, row, await inputsOf(store, store.db, row, source));
}

/** Thrown in the transaction of a send if the content was changed after it was prepared. */
class ContentChanged extends Error {}

const ATTEMPTS_MAX = 5;

/**
 * Prepares and sends again if the content was changed in between. Nothing is prepared within a transaction, because
 * others wait for it.
 */
export async function repeatWhileChanged<T>(attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ContentChanged)) throw error;
      if (attempts < ATTEMPTS_MAX) continue;
      throw refuse('service_unavailable', {
        say: 'The content of the broadcast was changed again and again while it was read; send it when it is ready.',
        because: error,
      });
    }
  }
}

/**
 * Returns the prepared content if its inputs are unchanged in the transaction; otherwise `repeatWhileChanged` starts
 * over.
 */
export async function mustStillHold(
  store: Store,
  tx: Executor,
  { row, source, before }: { row: Written; source: Source; before: PreparedContent | undefined },
): Promise<PreparedContent> {
  const now = await inputsOf(store, tx, row, source);
  if (!before || !isSame(before.inputs, now)) throw new ContentChanged('content changed after it was prepared');
  return before;
}

async function prepareFrom(store: Store, row: Written, inputs: Inputs): Promise<PreparedContent> {
  const { source, around, subject, ab_test, shown } = inputs;
  const prepared = await store.texts.run(
    { teamId: row.team_id, chars: countChars(source), task: prepareBodies },
    { written: { subject, ab_test }, source, around, shown },
  );
  return { inputs, ...prepared };
}

export function refuseTooMany({ path, variables }: NonNullable<PreparedBodies['tooMany']>): Refusal {
  const message = `${path} holds ${variables} merge variables; at most ${VARIABLES_MAX} are possible.`;
  return refuse('validation_error', { status: 422, say: message, errors: [{ path, message }] });
}

async function inputsOf(store: Store, db: Executor, row: Written, source: Source) {
  const around = await aroundOf(db, row);
  const shown = await imagesShownIn(store, db, row.team_id, source.html ?? '');
  return { subject: row.subject, ab_test: row.ab_test, source, around, shown };
}

/** A published version never changes, and is known by its id. */
function isSame(a: Inputs, b: Inputs): boolean {
  return (
    a.subject === b.subject &&
    a.ab_test === b.ab_test &&
    a.source.template?.versionId === b.source.template?.versionId &&
    a.source.html === b.source.html &&
    a.source.text === b.source.text &&
    JSON.stringify(partsOf(a)) === JSON.stringify(partsOf(b))
  );
}

function partsOf({ around: { previewText, team, properties }, shown }: Inputs) {
  const { name, sender_name, postal_address } = team;
  return { previewText, name, sender_name, postal_address, properties, images: shown.known };
}
