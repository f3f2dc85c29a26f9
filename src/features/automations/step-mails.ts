import type { Executor } from '../../platform/db/index.ts';
import type { StandaloneMail } from '../campaigns/index.ts';
import { findPublishedTemplate } from '../templates/index.ts';
import { findGraph, type AutomationRow } from './automations.store.ts';
import type { Graph, SendConfig } from './graph.ts';

/** Lists the emails of the active version of an automation, in the order of its steps. */
export async function listStepMails(
  db: Executor,
  automation: AutomationRow,
): Promise<(StandaloneMail & { label: string })[]> {
  const { steps } = JSON.parse((await findGraph(db, automation.id, automation.version)) ?? '{"steps":[]}') as Graph;
  const mails: (StandaloneMail & { label: string })[] = [];
  for (const { key, type, config } of steps) {
    if (type !== 'send_email') continue;
    const { template, subject, from, topic_id: topicId, stream, utm } = config as Partial<SendConfig>;
    const found = await findPublishedTemplate(db, automation.team_id, String(template?.id));
    if (!found) continue;
    const { content, version } = found;
    mails.push({
      id: automation.id,
      label: key,
      sender: from ?? version.from ?? '',
      subject: subject ?? content.subject ?? '',
      source: { html: content.html, text: content.text, template: content },
      given: sampleValues(template?.variables ?? {}),
      stream,
      topicId: topicId ?? null,
      utm,
      campaign: automation.name,
    });
  }
  return mails;
}

/**
 * Returns the values that a step gives; in place of one that is read from an event or a contact, the name of what it is
 * read from, because there is no run.
 */
const sampleValues = (variables: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(variables).map(([key, value]) => [
      key,
      typeof value === 'object' && value !== null && 'var' in value ? `[${String(value.var)}]` : String(value),
    ]),
  );
