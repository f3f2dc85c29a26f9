import type { CreateBroadcastRequest, UpdateBroadcastRequest } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { invalidFields, notFound, refuse, type FieldFault } from '../../../platform/refusal/index.ts';
import { findSegment } from '../../audience/segments/index.ts';
import { findTemplate, messageFaults, readList } from '../../templates/templates/index.ts';
import { findTopic } from '../../audience/topics/index.ts';
import { abTestFaults, abTestOf, notTogether } from './ab-test.ts';
import type { BroadcastContent } from './broadcasts.store.ts';

const NAME_CHARS_MAX = 200;

/** A new draft as it is stored. The segment is looked at by `mustBeAddressed`, the template by `readTemplateId`. */
export function readNewContent(input: CreateBroadcastRequest): BroadcastContent {
  const faults = faultsOf(input);
  const { template, html, text } = input;
  if (template && ((html ?? null) !== null || (text ?? null) !== null)) {
    faults.push({ path: 'template', message: 'template stands for html and text; give one or the other.' });
  }
  if (input.send !== true) {
    for (const field of ['scheduled_at', 'acknowledge_checks'] as const) {
      if (input[field] !== undefined) faults.push({ path: field, message: `${field} goes with send: true alone.` });
    }
  }
  faults.push(...abTestFaults(input.subject, input.ab));
  if (faults.length > 0) throw invalidFields(faults);
  if (input.ab && input.local_time === true) throw notTogether();
  return {
    name: input.name ?? nameFrom(input.subject),
    segment_id: segmentIn(input) ?? null,
    sender: input.from.trim(),
    subject: input.subject,
    reply_to_list: JSON.stringify(readList(input.reply_to).map((address) => address.trim())),
    preview_text: input.preview_text ?? null,
    html: html ?? null,
    text: text ?? null,
    topic_id: input.topic_id ?? null,
    template_id: null,
    rate_per_minute: input.rate_per_minute ?? null,
    local_time: input.local_time === true ? 1 : 0,
    ab_test: input.ab ? JSON.stringify(input.ab) : null,
  };
}

/** A draft after a change; what the change leaves out stays. */
export function readChangedContent(before: BroadcastContent, input: UpdateBroadcastRequest): BroadcastContent {
  const { html = before.html, text = before.text, subject = before.subject } = input;
  const faults = faultsOf({ ...input, subject, html, text });
  const testBefore = abTestOf(before) ?? null;
  faults.push(...abTestFaults(subject, input.ab === undefined ? testBefore : input.ab));
  if (faults.length > 0) throw invalidFields(faults);
  const segmentId = segmentIn(input);
  const hasBody = typeof input.html === 'string' || typeof input.text === 'string';
  const changed: BroadcastContent = {
    ...before,
    ...{ html, text, subject },
    name: input.name ?? before.name,
    segment_id: segmentId === undefined ? before.segment_id : segmentId,
    sender: input.from?.trim() ?? before.sender,
    reply_to_list:
      input.reply_to === undefined
        ? before.reply_to_list
        : JSON.stringify(readList(input.reply_to).map((address) => address.trim())),
    preview_text: input.preview_text === undefined ? before.preview_text : input.preview_text,
    topic_id: input.topic_id === undefined ? before.topic_id : input.topic_id,
    template_id: hasBody ? null : before.template_id,
    rate_per_minute: input.rate_per_minute === undefined ? before.rate_per_minute : input.rate_per_minute,
    local_time: input.local_time === undefined ? before.local_time : Number(input.local_time),
    ab_test: input.ab === undefined ? before.ab_test : input.ab && JSON.stringify(input.ab),
  };
  if (changed.ab_test !== null && changed.local_time === 1) throw notTogether();
  return changed;
}

function faultsOf(input: UpdateBroadcastRequest): FieldFault[] {
  const faults = messageFaults(input);
  const { segment_id: segment, audience_id: audience } = input;
  if (segment && audience && segment.toLowerCase() !== audience.toLowerCase()) {
    const message = 'audience_id is the older name of segment_id and names another segment; leave it out.';
    faults.push({ path: 'audience_id', message });
  }
  return faults;
}

function segmentIn({ segment_id: segment, audience_id: audience }: UpdateBroadcastRequest): string | null | undefined {
  // Clients with typed fields write null for the name that they do not use.
  const named = segment ?? (audience === undefined ? segment : audience);
  return named?.toLowerCase() ?? named;
}

const nameFrom = (subject: string): string => {
  const name = [...subject.trim()].slice(0, NAME_CHARS_MAX).join('');
  return name === '' ? 'Untitled' : name;
};

/** What a body names has to be there. A send tells of a missing segment itself, in its turn. */
export async function mustBeAddressed(
  db: Executor,
  teamId: string,
  { segmentId, topicId }: { segmentId?: string | null | undefined; topicId?: string | null | undefined },
): Promise<void> {
  if (segmentId && !(await findSegment(db, teamId, segmentId))) throw unknownId('segment_id', 'segment');
  if (topicId && !(await findTopic(db, teamId, topicId))) throw unknownId('topic_id', 'topic');
}

const unknownId = (field: string, what: string) =>
  refuse('invalid_parameter', { say: `${field} names no ${what} of this team.` });

/** The id of a published template. */
export async function readTemplateId(db: Executor, teamId: string, idOrAlias: string): Promise<string> {
  const template = await findTemplate(db, teamId, idOrAlias);
  if (!template) throw notFound('Template');
  if (template.published_version_id !== null) return template.id;
  const message = `template.id: the template ${idOrAlias} is a draft; publish it before sending with it.`;
  throw refuse('validation_error', { status: 422, say: message, errors: [{ path: 'template.id', message }] });
}
