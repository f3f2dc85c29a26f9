import { ENROLLING_TYPES, type EnrollingType } from '../../../mail/events/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { isUuid } from '../../../platform/ids/index.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';
import { propertyNamed } from '../../campaigns/broadcasts/index.ts';
import { declaredProperties } from '../../audience/contact-properties/index.ts';
import { findCustomEventNamed, RESERVED_PREFIX } from '../custom-events/index.ts';
import { findDomainByName } from '../../../mail/domains/index.ts';
import { findSegment } from '../../audience/segments/index.ts';
import { findPublishedVersion, findTemplate, valueFaults } from '../../templates/templates/index.ts';
import { findTopic } from '../../audience/topics/index.ts';
import { isVariable } from './check-configs.ts';
import { isRecord, listed, type Faults } from './faults.ts';
import type { Graph, Step } from './graph.ts';
import type { Tell } from './known.ts';

/** What starts an automation: an event of the team as it is now, or a type of the platform's. */
export interface Trigger {
  trigger_event_id: string | null;
  trigger_type: EnrollingType | null;
  /** Of what is added to a segment, the one that is meant; null for all. */
  trigger_segment_id: string | null;
}

const NOTHING: Trigger = { trigger_event_id: null, trigger_type: null, trigger_segment_id: null };

/** Every template, segment, topic, event and sender's domain that is named has to exist. Answers what the trigger means. */
export async function checkNames(db: Executor, teamId: string, graph: Graph, faults: Faults): Promise<Trigger> {
  let trigger = NOTHING;
  for (const step of graph.steps) {
    if (!faults.mayReadConfig(step.key)) continue;
    const tell: Tell = (says) => void faults.step(step.key, says);
    if (step.type === 'trigger') trigger = await findTrigger(db, teamId, step, tell);
    if (step.type === 'send_email') await checkTemplate(db, teamId, step, tell);
    const { segment_id: segment, topic_id: topic } = step.config;
    if (typeof segment === 'string' && !(isUuid(segment) && (await findSegment(db, teamId, segment.toLowerCase())))) {
      tell(`names the segment ${listed([segment])}, which does not exist`);
    }
    if (typeof topic === 'string' && !(isUuid(topic) && (await findTopic(db, teamId, topic.toLowerCase())))) {
      tell(`names the topic ${listed([topic])}, which does not exist`);
    }
  }
  return trigger;
}

async function findTrigger(db: Executor, teamId: string, { config }: Step, tell: Tell): Promise<Trigger> {
  const { event_name: name, segment_id: segment } = config;
  if (typeof name !== 'string' || name === '') return NOTHING;
  if (name.startsWith(RESERVED_PREFIX)) {
    const type = ENROLLING_TYPES.find((one) => name === `${RESERVED_PREFIX}${one}`);
    const may = ENROLLING_TYPES.map((one) => `${RESERVED_PREFIX}${one}`).join(', ');
    if (!type) tell(`names ${listed([name])}, which is no event of the platform; those are ${may}`);
    const segmentId = typeof segment === 'string' ? segment.toLowerCase() : null;
    return { ...NOTHING, trigger_type: type ?? null, trigger_segment_id: segmentId };
  }
  const event = await findCustomEventNamed(db, teamId, name);
  if (!event) tell(`names the event ${listed([name])}, which does not exist`);
  return { ...NOTHING, trigger_event_id: event?.id ?? null };
}

async function checkTemplate(db: Executor, teamId: string, { config }: Step, tell: Tell): Promise<void> {
  const { template, from, subject } = config;
  if (!isRecord(template) || typeof template['id'] !== 'string') return;
  const { id, variables } = template;
  const version = await findPublishedVersion(db, teamId, id as string);
  if (!version) {
    const isDraft = (await findTemplate(db, teamId, id as string)) !== undefined;
    return tell(
      `names the template ${listed([id as string])}, which ${isDraft ? 'is not published' : 'does not exist'}`,
    );
  }
  const sender = from ?? version.from;
  if (sender === undefined) tell('must have from, as its template has none');
  else await checkSender(db, teamId, sender, tell);
  if (subject === undefined && version.subject === undefined) tell('must have subject, as its template has none');
  const given = isRecord(variables) ? variables : {};
  const properties = await declaredProperties(db, teamId);
  const rules = {
    rendersSubject: subject === undefined,
    isLater: isVariable,
    isFilled: (key: string) => propertyNamed(properties, key) !== undefined,
  };
  for (const says of valueFaults(version, given, rules)) tell(says.replace(/\.$/, ''));
}

/** Whether the domain is verified is for each email to wait for. What is no address is told elsewhere. */
async function checkSender(db: Executor, teamId: string, sender: unknown, tell: Tell): Promise<void> {
  const parsed = parseMailbox(String(sender));
  if (!parsed.ok || (await findDomainByName(db, teamId, parsed.mailbox.domain))) return;
  tell(`sends from the domain ${listed([parsed.mailbox.domain])}, which is not one of this team`);
}
