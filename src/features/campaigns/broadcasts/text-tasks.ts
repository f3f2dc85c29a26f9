import { defineTextTask, type TextTask } from '../../../platform/text-thread/index.ts';
import { VARIABLES_MAX, type ContentCheck } from '../../../protocol/content-checks/index.ts';
import { parseMerge, type MergeText } from '../../../protocol/merge/index.ts';
import type { WayOut } from '../../audience/contacts/index.ts';
import { parseBody, renderBody, type MergedBody } from '../../../mail/shared-bodies/index.ts';
import type { PublishedContent } from '../../templates/templates/index.ts';
import { runChecks, type Checked } from './checks.ts';
import {
  composeBodies,
  composeStepMail,
  settledPreview,
  type Around,
  type Bodies,
  type Source,
} from './freeze-broadcast.ts';
import { isTooLarge, LINK_KEYS, mailFor, mergedMail, mergeValuesOf, type MergedContact } from './merge-values.ts';

/** Returns the number of characters of a body, for `store.texts`. */
export const countChars = (body: { html: string | null; text: string | null } | undefined): number =>
  (body?.html?.length ?? 0) + (body?.text?.length ?? 0);

export const checkBodies: TextTask<Checked, ContentCheck[]> = defineTextTask('broadcasts.checkBodies', runChecks);

interface Unprepared {
  written: Omit<Checked['written'], 'preview_text'>;
  source: Source;
  around: Around;
  shown: Checked['shown'];
}

/** The result of preparing a body for a send. */
export interface PreparedBodies {
  checks: ContentCheck[];
  bodies: Bodies;
  /**
   * The body that uses more merge variables than allowed: each of its mails would cost as much as thousands of others.
   */
  tooMany: { path: 'html' | 'text'; variables: number } | undefined;
}

export const prepareBodies: TextTask<Unprepared, PreparedBodies> = defineTextTask(
  'broadcasts.prepareBodies',
  ({ written, source, around, shown }) => {
    const checked = { ...written, preview_text: around.previewText };
    const { properties, team } = around;
    const checks = runChecks({ written: checked, source, properties, team, shown });
    const bodies = composeBodies(source, around);
    const counts = (['html', 'text'] as const).map((path) => ({
      path,
      variables: parseMerge(bodies[path] ?? '').filter((part) => typeof part !== 'string').length,
    }));
    return { checks, bodies, tooMany: counts.find(({ variables }) => variables > VARIABLES_MAX) };
  },
);

/** The input of a preview. */
export interface Previewed {
  subject: string;
  /** Values that are fixed already; undefined if a send would fix them now. */
  bodies: Bodies | undefined;
  source: Source | undefined;
  template: PublishedContent | undefined;
  around: Around;
  contact: MergedContact;
  links: WayOut['variables'];
}

export interface Preview extends Bodies {
  subject: string;
  previewText: string;
  /** Keys without any value. */
  missing: string[];
}

const NO_BODY: MergedBody = { html: null, text: null };

/** Renders the mail of one contact, or returns that its values would make it larger than allowed. */
export const previewMail: TextTask<Previewed, Preview | 'too large'> = defineTextTask(
  'broadcasts.previewMail',
  ({ subject: written, source, template, around, contact, links, ...fixed }) => {
    const composed = source ? composeBodies(source, around) : { html: null, text: null };
    const body = parseBody(fixed.bodies ?? composed);
    const mail = mergedMail(written, body, around);
    const { subject, values } = mailFor(mail, contact, links);
    if (isTooLarge(body, values)) return 'too large';
    const preview = mergedMail(settledPreview(template, around), NO_BODY, around);
    const texts = [mail.subject, preview.subject, body.html ?? [], body.text ?? []];
    return {
      subject,
      previewText: mailFor(preview, contact, links).subject,
      ...renderBody(body, values),
      missing: missingIn(texts, mergeValuesOf(contact, around, [...mail.keys, ...preview.keys])),
    };
  },
);

function missingIn(texts: readonly MergeText[], { given, fallbacks }: ReturnType<typeof mergeValuesOf>): string[] {
  const bare = texts
    .flat()
    .flatMap((part) => (typeof part === 'string' || part.inlineDefault !== undefined ? [] : part.key));
  return [...new Set(bare)].filter((key) => !(key in given) && !(key in fallbacks) && !LINK_KEYS.includes(key));
}

/** Composes the mail of a step of an automation. */
export const composeStepBodies: TextTask<
  Parameters<typeof composeStepMail>,
  ReturnType<typeof composeStepMail>
> = defineTextTask('broadcasts.composeStepBodies', (parts) => composeStepMail(...parts));

export const textTasks: readonly TextTask<never, unknown>[] = [
  checkBodies,
  composeStepBodies,
  prepareBodies,
  previewMail,
];
