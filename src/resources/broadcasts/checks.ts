import { refuse } from '../../platform/refusal/index.ts';
import { checkContent, type ContentCheck } from '../../protocol/content-checks/index.ts';
import type { PropertyRow } from '../contact-properties/index.ts';
import type { ImagesShown } from '../images/index.ts';
import type { BroadcastContent } from './broadcasts.store.ts';
import type { Source } from './freeze-broadcast.ts';
import { builtInKey, propertyNamed } from './merge-values.ts';

interface Checked {
  written: Pick<BroadcastContent, 'subject' | 'preview_text'>;
  source: Source | undefined;
  properties: readonly PropertyRow[];
  /** The pictures of the body that are our own. */
  shown: ImagesShown;
}

/** The content checks, on what would go out now. */
export function runChecks({ written, source, properties, shown }: Checked): ContentCheck[] {
  return checkContent({
    ...shown,
    subject: written.subject,
    previewText: written.preview_text,
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
