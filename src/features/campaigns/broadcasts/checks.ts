import type { PostalAddress } from '../../../contract/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import { checkContent, type ContentCheck } from '../../../protocol/content-checks/index.ts';
import type { PropertyRow } from '../../audience/contact-properties/index.ts';
import { lookUpImages, type ImagesShown } from '../../templates/images/index.ts';
import { subjectsOf } from './ab-test.ts';
import type { BroadcastContent } from './broadcasts.store.ts';
import type { Source } from './freeze-broadcast.ts';
import { builtInKey, isTeamKey, propertyNamed, type Sender } from './merge-values.ts';

export interface Checked {
  written: Pick<BroadcastContent, 'subject' | 'preview_text' | 'ab_test'>;
  source: Source | undefined;
  properties: readonly PropertyRow[];
  team: Sender;
  /** The pictures of the body that are our own. */
  shown: ImagesShown;
}

/** The content checks, on what would go out now. */
export function runChecks({ written, source, properties, team, shown }: Checked): ContentCheck[] {
  const images = lookUpImages(shown);
  const checkOf = (subject: string): ContentCheck[] =>
    checkContent({
      ...images,
      gone: shown.gone,
      subject,
      previewText: written.preview_text,
      html: source?.html ?? null,
      text: source?.text ?? null,
      address: team.postal_address === null ? null : (JSON.parse(team.postal_address) as PostalAddress),
      addressKeys: isTeamKey('POSTAL_ADDRESS', properties) ? ['POSTAL_ADDRESS'] : [],
      isKnown: (key) =>
        builtInKey(key) !== undefined ||
        isTeamKey(key, properties) ||
        propertyNamed(properties, key) !== undefined ||
        source?.template?.fallbacks.has(key) === true,
    });
  const [first = [], ...others] = subjectsOf(written).map(checkOf);
  // Of several subjects the one is told that does worst.
  return first.map((check, i) => others.reduce((worst, checks) => worseOf(worst, checks[i] ?? worst), check));
}

const RANK = { pass: 0, warn: 1, fail: 2 } as const;
const worseOf = (a: ContentCheck, b: ContentCheck): ContentCheck => (RANK[b.status] > RANK[a.status] ? b : a);

export function mustPass(checks: readonly ContentCheck[]): void {
  const failing = checks.filter(({ status }) => status === 'fail');
  const [first] = failing;
  if (!first) return;
  const more = failing.length > 1 ? ` (and ${failing.length - 1} more)` : '';
  throw refuse('validation_error', {
    status: 422,
    say: `${first.message}${more} Mend it, or send it all the same with acknowledge_checks.`,
    details: { checks: failing },
  });
}
