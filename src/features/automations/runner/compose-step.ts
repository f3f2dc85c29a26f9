import { invalidFields } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import {
  CHARS_MAX,
  composeStepBodies,
  countChars,
  fallbacksIn,
  isTooLarge,
  mailFor,
  mergedMail,
  propertyNamed,
  type MergedMail,
} from '../../campaigns/broadcasts/index.ts';
import type { PropertyRow } from '../../audience/contact-properties/index.ts';
import type { ContactRow, WayOut } from '../../audience/contacts/index.ts';
import { readBody, renderBody } from '../../../mail/shared-bodies/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { readValues, type PublishedTemplate } from '../../templates/templates/index.ts';
import { gone } from './taken.ts';

interface StepTexts {
  teamId: string;
  template: PublishedTemplate;
  /** The subject of the step, in place of the template's. */
  subject: string | undefined;
  topicId: string | null;
  properties: readonly PropertyRow[];
}

/** A template as one step sends it, before the values of a contact are filled in. */
export interface StepMail {
  mail: MergedMail;
  /** Whether it has a topic or an unsubscribe link; if so, the footer, quota and switch of marketing mail apply. */
  isMarketing: boolean;
}

interface Composed extends StepMail {
  /** Everything that it was made from, except the version, which never changes. */
  madeFrom: string;
}

/** Finding the places of variables in HTML costs more than rendering it, and many runs send the same few templates. */
const CACHED_MAX = 50;
const CACHED_CHARS_MAX = 256 * 1024;
const caches = new WeakMap<World, Map<string, Composed>>();

/** Composes the bodies of a step like those of a broadcast. */
export async function composeStep(world: World, step: StepTexts): Promise<StepMail> {
  const { template, topicId, properties } = step;
  const team = await findTeam(world.db, step.teamId);
  if (!team) throw gone('team');
  const subject = step.subject ?? template.content.subject ?? '';
  const { name, sender_name, postal_address } = team;
  const madeFrom = JSON.stringify([step.teamId, subject, topicId, name, sender_name, postal_address, properties]);
  const cache = caches.get(world) ?? new Map<string, Composed>();
  caches.set(world, cache);
  const { versionId, html, text } = template.content;
  const known = cache.get(versionId);
  if (known?.madeFrom === madeFrom) return known;
  const fallbacks = fallbacksIn(properties, team);
  const { bodies, isMarketing } = await world.texts.run(
    { teamId: step.teamId, chars: countChars({ html, text }), task: composeStepBodies, isPatient: true },
    [{ html, text, template: template.content }, { team, properties, fallbacks }, topicId],
  );
  const body = await readBody(world, { team_id: step.teamId, ...bodies });
  const made = { madeFrom, mail: mergedMail(subject, body, { properties, fallbacks }), isMarketing };
  cache.delete(versionId);
  if (html.length + (text?.length ?? 0) <= CACHED_CHARS_MAX) cache.set(versionId, made);
  const [oldest] = cache.keys();
  if (oldest !== undefined && cache.size > CACHED_MAX) cache.delete(oldest);
  return made;
}

/** Checks the values that a step gives; a value that a property of the contact fills may be omitted. */
export function readStepValues(
  { template, subject, properties }: StepTexts,
  given: Readonly<Record<string, unknown>>,
): Map<string, string> {
  return readValues(template.version, given, {
    rendersSubject: subject === undefined,
    isFilled: (key) => propertyNamed(properties, key) !== undefined,
  });
}

/**
 * Renders the mail of one contact. Values of the step come first, then the contact's own, then defaults and fallbacks.
 */
export function renderStep(
  { mail }: StepMail,
  contact: ContactRow,
  { given, links }: { given: ReadonlyMap<string, string>; links: WayOut['variables'] },
): { subject: string; html: string | null; text: string | null } {
  const { subject, values } = mailFor(mail, contact, { ...Object.fromEntries(given), ...links });
  if (isTooLarge(mail.body, values)) {
    const message = `template.variables: with these values, html and text would have more than ${CHARS_MAX} characters, which no mail may have.`;
    throw invalidFields([{ path: 'template.variables', message }]);
  }
  return { subject, ...renderBody(mail.body, values) };
}
