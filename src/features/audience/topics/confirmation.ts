import type { Executor } from '../../../platform/db/index.ts';
import { invalidField } from '../../../platform/refusal/index.ts';
import { findPublishedVersion } from '../../templates/templates/index.ts';
import type { TopicRow } from './topics.store.ts';

/** The variable that a confirmation template declares for the link. */
export const CONFIRMATION_URL = 'CONFIRMATION_URL';

type Confirming = Pick<TopicRow, 'confirmation' | 'confirmation_template_id' | 'default_subscription'>;

/** A topic that asks for confirmation needs a mail to ask with, and may not take silence for a yes. */
export async function mustBeConfirmable(tx: Executor, teamId: string, topic: Confirming): Promise<void> {
  const { confirmation, confirmation_template_id: templateId, default_subscription } = topic;
  if (templateId !== null) await mustAsk(tx, teamId, templateId);
  if (confirmation === 'none') return;
  if (templateId === null) {
    throw badTemplate(
      'confirmation_template_id names the published template to ask with; confirmation: required needs one.',
    );
  }
  if (default_subscription === 'opt_in') {
    throw bad('confirmation: required is for topics whose default_subscription is opt_out.');
  }
}

async function mustAsk(tx: Executor, teamId: string, templateId: string): Promise<void> {
  const version = await findPublishedVersion(tx, teamId, templateId);
  if (!version) throw badTemplate('confirmation_template_id names no published template of this team.');
  const lacks = [
    ...(version.from === undefined ? ['from'] : []),
    ...(version.subject === undefined ? ['subject'] : []),
  ];
  if (lacks.length > 0) {
    throw badTemplate(`confirmation_template_id: the template has no ${lacks.join(' and no ')}; publish it with one.`);
  }
  if (!version.variables.has(CONFIRMATION_URL)) {
    throw badTemplate(
      `confirmation_template_id: the template does not declare the variable ${CONFIRMATION_URL}, which is the link.`,
    );
  }
}

const bad = (say: string) => invalidField('confirmation', say);
const badTemplate = (say: string) => invalidField(TEMPLATE, say);
const TEMPLATE = 'confirmation_template_id';
