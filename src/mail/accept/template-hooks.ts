import type { Executor } from '../../platform/db/index.ts';
import { defineHook } from '../../platform/hook.ts';
import type { Store } from '../../platform/store.ts';

export interface TemplateUse {
  /** An id or an alias. */
  id: string;
  variables?: Readonly<Record<string, unknown>> | null | undefined;
  /**
   * Values for declared variables that `variables` does not name. Untrusted senders may have written them, so with one
   * of them the HTML is rendered in such a way that no value can leave its context.
   */
  offered?: Readonly<Record<string, string>> | undefined;
  /** The subject of the send, which replaces the template's and is not rendered. */
  subject?: string | null | undefined;
}

/** The rendered template; a field is absent if neither the template nor the send has it. */
export interface ResolvedTemplate {
  templateId: string;
  from?: string;
  subject?: string;
  replyTo?: string[];
  html: string;
  text: string | null;
  /** Set for a large template whose body several emails may share. */
  merged?: MergedTemplate;
}

/** The source of html and text: rendering it again gives the same result. */
export interface MergedTemplate {
  versionId: string;
  /** The values that the bodies use, as JSON (`SharedValues`). */
  values: string;
}

/** Renders a template of a team with the values of a send; refuses missing and unknown values. */
export const resolveTemplate =
  defineHook<(store: Store, teamId: string, use: TemplateUse) => Promise<ResolvedTemplate>>('resolveTemplate');

/** Returns the content of a published version, undefined if its template was deleted. */
export const findVersionContent =
  defineHook<(db: Executor, versionId: string) => Promise<{ html: string; text: string | null } | undefined>>(
    'findVersionContent',
  );
