import type { CreateTopicRequest, UpdateTopicRequest } from '../../../contract/index.ts';
import { isUniqueViolation, type Page, type Executor } from '../../../platform/db/index.ts';
import { refuse, notFound, invalidField } from '../../../platform/refusal.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import {
  countTopics,
  insertTopic,
  findTopic,
  updateTopicRow,
  markTopicDeleted,
  listTopicRows,
  type TopicRow,
} from './topics.store.ts';
import { removeConfirmationsFor } from './confirmations.store.ts';
import { isoTime } from '../../../platform/clock.ts';
import { findPublishedVersion } from '../../templates/index.ts';
import type { Subscription } from '../../../protocol/contact-filter/index.ts';

/** The variable that a confirmation template declares for the link. */
export const CONFIRMATION_URL = 'CONFIRMATION_URL';

type Confirming = Pick<TopicRow, 'confirmation' | 'confirmation_template_id' | 'default_subscription'>;

/** Throws if a topic that requires confirmation has no template for the mail, or opts contacts in by default. */
async function mustBeConfirmable(tx: Executor, teamId: string, topic: Confirming): Promise<void> {
  const { confirmation, confirmation_template_id: templateId, default_subscription } = topic;
  if (templateId !== null) await mustAsk(tx, teamId, templateId);
  if (confirmation === 'none') return;
  if (templateId === null) {
    throw badTemplate(
      'confirmation_template_id is required when confirmation is required; set it to a published template.',
    );
  }
  if (default_subscription === 'opt_in') {
    throw bad('confirmation can be required only for topics whose default_subscription is opt_out.');
  }
}

/** Throws if a template cannot be the mail that asks a person to confirm. */
export async function mustAsk(tx: Executor, teamId: string, templateId: string): Promise<void> {
  const version = await findPublishedVersion(tx, teamId, templateId);
  if (!version) throw badTemplate('confirmation_template_id does not match a published template of this team.');
  const lacks = [
    ...(version.from === undefined ? ['from'] : []),
    ...(version.subject === undefined ? ['subject'] : []),
  ];
  if (lacks.length > 0) {
    throw badTemplate(
      `confirmation_template_id: the template has no ${lacks.join(' and no ')}; add what is missing and publish it.`,
    );
  }
  if (!version.variables.has(CONFIRMATION_URL)) {
    throw badTemplate(
      `confirmation_template_id: the template does not declare the variable ${CONFIRMATION_URL}, which is the confirmation link; declare it and publish the template.`,
    );
  }
}

const bad = (say: string) => invalidField('confirmation', say);
const badTemplate = (say: string) => invalidField(TEMPLATE, say);
const TEMPLATE = 'confirmation_template_id';

/** Limit per team, because all topics are read with every segment and on every preference page. */
const TOPICS_MAX = 200;

export async function createTopic({ store, teamId }: Ctx, input: CreateTopicRequest) {
  const id = store.ids.uuid();
  const { name, default_subscription, description = null, visibility = 'private', confirmation = 'none' } = input;
  const quiet = readQuietHours(input.quiet_hours ?? null);
  const row = {
    id,
    team_id: teamId,
    name,
    description,
    default_subscription,
    visibility,
    confirmation,
    confirmation_template_id: input.confirmation_template_id?.toLowerCase() ?? null,
    ...quiet,
    created_at: store.clock.now(),
  };
  try {
    await store.db.tx(async (tx) => {
      await lockTeam(tx, teamId);
      if ((await countTopics(tx, teamId)) >= TOPICS_MAX) throw tooMany();
      await mustBeConfirmable(tx, teamId, row);
      await insertTopic(tx, row);
    });
  } catch (error) {
    throw isUniqueViolation(error) ? topicNameTaken(name) : error;
  }
  return { object: 'topic' as const, id };
}

/** Throws if the quiet hours would have no end. */
function readQuietHours(hours: { from: string; to: string } | null): Pick<TopicRow, 'quiet_from' | 'quiet_to'> {
  if (hours === null) return { quiet_from: null, quiet_to: null };
  if (hours.from === hours.to) {
    throw invalidField('quiet_hours', 'quiet_hours: from and to must be different times.');
  }
  return { quiet_from: hours.from, quiet_to: hours.to };
}

const topicNameTaken = (name: string) =>
  refuse('invalid_parameter', {
    say: `name: a topic named ${JSON.stringify(name)} already exists; choose another name.`,
  });

const tooMany = () =>
  refuse('validation_error', { status: 422, say: `A team may have at most ${TOPICS_MAX} topics; delete one first.` });

export interface Choice {
  id: string;
  subscription: Subscription;
}

/** Reads the choices in a body, the last one for each topic, among the topics of the team. */
export function readChoices(given: readonly Choice[], live: readonly { id: string }[]): Choice[] {
  const known = new Set(live.map(({ id }) => id));
  const chosen = new Map<string, Choice>();
  for (const [i, { id, subscription }] of given.entries()) {
    const topicId = id.toLowerCase();
    if (!known.has(topicId)) {
      throw invalidField(`topics.${i}.id`, `topics.${i}.id does not match a topic of this team.`);
    }
    chosen.set(topicId, { id: topicId, subscription });
  }
  return [...chosen.values()];
}

export async function getTopic({ store, teamId }: Ctx, id: string) {
  const row = await findTopic(store.db, teamId, id);
  if (!row) throw notFound('Topic');
  return { object: 'topic' as const, ...present(row) };
}

export async function listTopics({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await listTopicRows(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

const present = (row: TopicRow) => ({
  id: row.id,
  name: row.name,
  description: row.description,
  default_subscription: row.default_subscription,
  visibility: row.visibility,
  confirmation: row.confirmation,
  confirmation_template_id: row.confirmation_template_id,
  quiet_hours: row.quiet_from === null || row.quiet_to === null ? null : { from: row.quiet_from, to: row.quiet_to },
  created_at: isoTime(row.created_at),
});

export async function deleteTopic({ store, teamId }: Ctx, id: string) {
  const isDone = await store.db.tx(async (tx) => {
    const isMarked = await markTopicDeleted(tx, teamId, id, store.clock.now());
    if (isMarked) await removeConfirmationsFor(tx, id);
    return isMarked;
  });
  if (!isDone) throw notFound('Topic');
  return { object: 'topic' as const, id, deleted: true as const };
}

export async function updateTopic({ store, teamId }: Ctx, id: string, input: UpdateTopicRequest) {
  try {
    await store.db.tx(async (tx) => {
      const row = await findTopic(tx, teamId, id);
      if (!row) throw notFound('Topic');
      const after = changed(row, input);
      if (asksOtherwise(row, after)) await mustBeConfirmable(tx, teamId, after);
      await updateTopicRow(tx, after);
      if (after.confirmation === 'none') await removeConfirmationsFor(tx, id);
    });
  } catch (error) {
    throw isUniqueViolation(error) ? topicNameTaken(input.name ?? '') : error;
  }
  return { object: 'topic' as const, id };
}

function changed(row: TopicRow, input: UpdateTopicRequest): TopicRow {
  const { name = row.name, description = row.description, visibility = row.visibility } = input;
  const { confirmation = row.confirmation, confirmation_template_id: template = row.confirmation_template_id } = input;
  const confirmation_template_id = template?.toLowerCase() ?? null;
  const quiet = input.quiet_hours === undefined ? {} : readQuietHours(input.quiet_hours);
  return { ...row, name, description, visibility, confirmation, confirmation_template_id, ...quiet };
}

/** Reports whether the confirmation settings differ. A topic can be renamed even if its template is no longer valid. */
const asksOtherwise = (before: TopicRow, after: TopicRow): boolean =>
  before.confirmation !== after.confirmation || before.confirmation_template_id !== after.confirmation_template_id;
