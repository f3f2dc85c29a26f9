import type { Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { checkContent, type ContentCheck } from '../../protocol/content-checks/index.ts';
import { imagesShownIn } from '../images/index.ts';
import { declaredProperties } from '../contact-properties/index.ts';
import type { BroadcastContent } from './broadcasts.store.ts';
import type { Source } from './freeze-broadcast.ts';
import { builtInKey, propertyNamed } from './merge-values.ts';

/** The content checks, on what would go out now. */
export async function runChecks(
  store: Store,
  db: Executor,
  teamId: string,
  { subject, preview_text: previewText }: Pick<BroadcastContent, 'subject' | 'preview_text'>,
  source: Source | undefined,
): Promise<ContentCheck[]> {
  const properties = await declaredProperties(db, teamId);
  const shown = await imagesShownIn(store, db, teamId, source?.html ?? '');
  return checkContent({
    ...shown,
    subject,
    previewText,
    html: source?.html ?? null,
    text: source?.text ?? null,
    isKnown: (key) =>
      builtInKey(key) !== undefined ||
      propertyNamed(properties, key) !== undefined ||
      source?.template?.fallbacks.has(key) === true,
  });
}

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
