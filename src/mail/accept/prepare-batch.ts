import type { BatchError, SendEmailRequest } from '../../contract/index.ts';
import { refuse, Refusal, type FieldFault } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import type { EmailDraft } from '../emails/index.ts';
import { fetchAttachmentsOfEach } from './fetch-attachments.ts';
import type { InSlices } from './in-slices.ts';
import type { Prepare, Prepared } from './prepare.ts';
import { mustBeWithinQuota } from './quota.ts';

export interface PreparedBatch {
  good: Prepared[];
  /** Set only where a bad email is refused alone. */
  errors: BatchError[] | undefined;
}

/** What the emails of one batch are read with. */
export interface BatchSteps {
  prepare: Prepare;
  /** Goes through the emails, and lets others have their turns between slices of them. */
  inSlices: InSlices;
}

/** Every email of a strict batch, or the refusal of the first bad one. A gap is one that was refused before. */
export async function prepareAll(
  world: World,
  ctx: Ctx,
  { prepare, inSlices }: BatchSteps,
  inputs: (SendEmailRequest | undefined)[],
): Promise<PreparedBatch> {
  const all: Prepared[] = [];
  const withinLimit = createBodyLimit(world);
  await inSlices(ctx.teamId, inputs, async (input, index) => {
    if (!input) return;
    try {
      all.push(withinLimit(await prepare(input)));
    } catch (error) {
      throw error instanceof Refusal ? atIndex(error, index) : error;
    }
  });
  const drafts = all.map(({ draft }) => draft);
  if (drafts.some(hasFiles)) await mustBeWithinQuota(world, ctx.teamId, drafts.length);
  const faults = await fetchAttachmentsOfEach(world, drafts, { stopsAtFirst: true, whenGone: ctx.whenGone });
  for (const [index, fault] of faults.entries()) if (fault) throw atIndex(fault, index);
  return { good: all, errors: undefined };
}

/** The good emails, and the faults of the others. An error of ours is no email's fault, and fails the whole batch. */
export async function prepareGood(
  world: World,
  ctx: Ctx,
  { prepare, inSlices }: BatchSteps,
  inputs: (SendEmailRequest | undefined)[],
  refused: readonly BatchError[],
): Promise<PreparedBatch> {
  const errors = [...refused];
  const read: { index: number; prepared: Prepared }[] = [];
  const withinLimit = createBodyLimit(world);
  await inSlices(ctx.teamId, inputs, async (input, index) => {
    if (!input) return;
    try {
      read.push({ index, prepared: withinLimit(await prepare(input)) });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      errors.push({ index, message: error.message });
    }
  });
  const drafts = read.map(({ prepared }) => prepared.draft);
  // How many are good is not known before their files are.
  if (drafts.some(hasFiles)) await mustBeWithinQuota(world, ctx.teamId, 1);
  const faults = await fetchAttachmentsOfEach(world, drafts, { whenGone: ctx.whenGone });
  const good = read.filter(({ index }, i) => {
    const fault = faults[i];
    if (fault) errors.push({ index, message: fault.message });
    return !fault;
  });
  errors.sort((a, b) => a.index - b.index);
  return { good: good.map(({ prepared }) => prepared), errors };
}

/** Their files are fetched and written before the commit that would refuse them, so the quota is checked early. */
const hasFiles = ({ attachments }: EmailDraft): boolean => attachments.length > 0;

/** Limits the texts of a batch to the size of a request: a request of a few bytes may name a large template a hundred times. */
function createBodyLimit({ config }: World): (prepared: Prepared) => Prepared {
  const bytesMax = config.http.email_body_limit_bytes;
  let left = bytesMax;
  return (prepared) => {
    const { html, text } = prepared.draft;
    const bytes = Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '');
    if (bytes <= left) {
      left -= bytes;
      return prepared;
    }
    throw refuse('validation_error', {
      status: 422,
      say: `The emails of a batch may have at most ${bytesMax} bytes of html and text together; send fewer at once.`,
    });
  };
}

/** Most messages begin with the field, whose full path is named then. */
const faultAtIndex = ({ path, message }: FieldFault, index: number): FieldFault => ({
  path: `${index}.${path}`,
  message: message.startsWith(path) ? `${index}.${message}` : message,
});

/** The same refusal, naming the email of the batch. */
function atIndex(refusal: Refusal, index: number): Refusal {
  const { errors, details } = refusal;
  return refuse(refusal.errorName, {
    status: refusal.status,
    say: `Email ${index}: ${refusal.message}`,
    ...(errors ? { errors: errors.map((fault) => faultAtIndex(fault, index)) } : {}),
    ...(details ? { details } : {}),
  });
}
