import { isDeepStrictEqual } from 'node:util';
import type { Executor } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { parseIsoTime } from '../../../protocol/iso-time/index.ts';
import { stepsOfRun, type RunRow } from '../automation-runs/index.ts';
import { durationMs, listRuleFields, meetsRule, type Step } from '../automations/index.ts';
import { declaredProperties } from '../../audience/contact-properties/index.ts';
import {
  chooseByApi,
  contactNamed,
  joinSegments,
  tellOf,
  valuesOf,
  writeChange,
  type ContactRow,
} from '../../audience/contacts/index.ts';
import { findSegment } from '../../audience/segments/index.ts';
import { liveTopics } from '../../audience/topics/index.ts';
import { sendStep } from './send-step.ts';
import { fieldsOf, gone, type Taken } from './taken.ts';

type Config = Readonly<Record<string, unknown>>;

/** Refuses what can never be done any more, which fails the run. */
export function createTakeStep(world: World): (run: RunRow, step: Step) => Promise<Taken> {
  const { db } = world;

  return async (run, step) => {
    const { config } = step;
    switch (step.type) {
      case 'trigger':
        return {};
      case 'delay':
        return delay(world, run, step);
      case 'condition':
        return condition(run, config);
      case 'contact_update':
        return { work: (tx) => update(tx, run, config) };
      case 'add_to_segment':
        return { work: (tx) => add(tx, run, config) };
      case 'topic_update':
        return { work: (tx) => choose(tx, run, config) };
      case 'send_email':
        return sendStep(world, run, config);
    }
  };

  async function condition({ team_id: teamId, contact_id: contactId }: RunRow, config: Config): Promise<Taken> {
    const contact = await contactNamed(db, teamId, contactId);
    const valueOf = fieldsOf(contact, await declaredProperties(db, teamId));
    const isMet = meetsRule(config, valueOf);
    if (isMet === undefined) {
      const field = listRuleFields(config).find((one) => valueOf(one) === undefined) ?? '';
      throw gone(`property ${field.replace(/^properties\./, '')}`);
    }
    return { way: isMet ? 'condition_met' : 'condition_not_met', output: { met: isMet } };
  }

  /** What begins runs in turn stands one deeper; a change that changes nothing begins none. */
  async function update(tx: Executor, run: RunRow, change: Config): Promise<undefined> {
    const { team_id: teamId, contact_id: id, depth } = run;
    const before = await contactNamed(tx, teamId, id, true);
    const declared = await declaredProperties(tx, teamId);
    const after = await writeChange(world, tx, { before, change, declared, source: 'api' });
    if (differs(before, after)) await tellOf(world, tx, 'contact.updated', after, depth + 1);
  }

  async function add(tx: Executor, run: RunRow, config: Config): Promise<undefined> {
    const { team_id: teamId, contact_id: id, depth } = run;
    const contact = await contactNamed(tx, teamId, id, true);
    const segment = await findSegment(tx, teamId, (config['segment_id'] as string).toLowerCase());
    if (!segment) throw gone('segment');
    await joinSegments(world, tx, contact, [segment.id], depth + 1);
  }

  /** A topic that asks first is asked for by mail. */
  async function choose(
    tx: Executor,
    { team_id: teamId, contact_id: id, depth }: RunRow,
    config: Config,
  ): Promise<undefined> {
    const { topic_id: topic, subscription } = config as { topic_id: string; subscription: 'opt_in' | 'opt_out' };
    const contact = await contactNamed(tx, teamId, id, true);
    const live = await liveTopics(tx, teamId);
    const topicId = topic.toLowerCase();
    if (!live.some((one) => one.id === topicId)) throw gone('topic');
    await chooseByApi(world, tx, contact, { choices: [{ id: topicId, subscription }], live, depth: depth + 1 });
  }
}

/** The first time it waits; when the run comes back to it, it is over. */
async function delay({ db, clock }: World, run: RunRow, { key, config }: Step): Promise<Taken> {
  const before = (await stepsOfRun(db, run.id)).find((one) => one.step_key === key);
  if (before) {
    const output = JSON.parse(before.output ?? '{}') as { until?: string };
    const end = Date.parse(output.until ?? '');
    // A run that was claimed before the wait was written has not waited.
    return Number(run.due_at) < end ? { waitsUntil: end } : { output };
  }
  const { duration, until } = config as { duration?: string; until?: string };
  const at = duration === undefined ? parseIsoTime(until ?? '')?.ms : clock.now() + (durationMs(duration) ?? 0);
  return { waitsUntil: Math.max(at ?? 0, clock.now()) };
}

const differs = (before: ContactRow, after: ContactRow): boolean => !isDeepStrictEqual(own(before), own(after));
const own = (row: ContactRow): object => ({
  ...{ first: row.first_name, last: row.last_name, unsubscribed: row.unsubscribed, values: valuesOf(row) },
});
