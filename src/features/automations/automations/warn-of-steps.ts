import type { PostalAddress } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { showsAddress } from '../../../protocol/content-checks/index.ts';
import { composeStepMail, fallbacksIn, isTeamKey } from '../../campaigns/broadcasts/index.ts';
import { declaredProperties } from '../../audience/contact-properties/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { findPublishedTemplate } from '../../templates/templates/index.ts';
import { isRecord, listed } from './faults.ts';
import type { Graph } from './graph.ts';

/**
 * Lists steps that are valid and probably not intended: marketing mail without a postal address. Steps that the checks
 * of the graph refuse are not listed.
 */
export async function warnOfSteps(db: Executor, teamId: string, { steps }: Graph): Promise<string[]> {
  const team = await findTeam(db, teamId);
  if (!team) throw new Error('team row missing while its automation is checked');
  const properties = await declaredProperties(db, teamId);
  const fallbacks = fallbacksIn(properties, team);
  const address = team.postal_address === null ? null : (JSON.parse(team.postal_address) as PostalAddress);
  const warnings: string[] = [];
  for (const { key, type, config } of steps) {
    const { template, topic_id: topic } = config;
    if (type !== 'send_email' || !isRecord(template)) continue;
    const found = await findPublishedTemplate(db, teamId, String(template['id']));
    if (!found) continue;
    const source = { ...found.content, template: found.content };
    const topicId = typeof topic === 'string' ? topic : null;
    const { bodies, isMarketing } = composeStepMail(source, { team, properties, fallbacks }, topicId);
    if (!isMarketing) continue;
    const step = `The step ${listed([key])}`;
    if (address === null) {
      warnings.push(
        `${step} sends marketing mail, and the team has no postal address to show in it; set postal_address.`,
      );
      continue;
    }
    const addressKeys = isTeamKey('POSTAL_ADDRESS', properties) ? ['POSTAL_ADDRESS'] : [];
    if (showsAddress({ ...bodies, addressKeys }, address)) continue;
    warnings.push(
      `${step} sends a template with an unsubscribe link of its own, so that no footer is added, and without the postal address; write {{{POSTAL_ADDRESS}}} into the template.`,
    );
  }
  return warnings;
}
