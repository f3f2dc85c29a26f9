import { Refusal } from '../../../platform/refusal.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { NEXT_CHARS_MAX } from '../page.ts';
import type { Redirect, PageCtx, PageHandler, Shown, SignedIn, Visit } from './page.ts';

export interface Field {
  /** The name of the operation's field, so that its faults are shown here. */
  name: string;
  label: string;
  type?: 'text' | 'email' | 'password' | 'number' | 'checkbox' | 'textarea';
  /** Makes the field a choice; `value` is the chosen option. */
  options?: readonly { value: string; label: string }[];
  isChecked?: boolean;
  /** The value that browsers and password managers fill in (HTML, "autofill field names"). */
  autocomplete: string;
  /** The value typed before; passwords and codes are never sent back. */
  value?: string | undefined;
  hint?: string;
  isOptional?: boolean;
  inputmode?: 'numeric' | 'text';
  /** The operation's name for the field, if it differs from `name`. */
  faultName?: string;
}

interface Form {
  action: string;
  /** The label of the button below the fields. */
  submit?: string;
  /** Buttons above the fields, each of which sends its value. They stay in view while the fields are scrolled. */
  decisions?: { name: string; choices: readonly { value: string; label: string; isSecond?: boolean }[] };
  /** HTML above the fields. */
  above?: string;
  /** Accessible name of the button when several have the same label. */
  describedAs?: string;
  /** The account of the password, for password managers; it is not visible. */
  username?: string | undefined;
  /** Set for a secondary button. */
  isSecond?: boolean;
  fields?: readonly Field[];
  /** Hidden fields of the form. */
  hidden?: Readonly<Record<string, string | undefined>>;
  /** The reason why the form was refused the last time. */
  fault?: Refusal | undefined;
  /** Distinguishes forms with the same fields on one page. */
  id?: string;
}

/**
 * Renders a form; after a refusal each fault is shown at its field, the first such field has the focus, and other
 * faults are shown above.
 */
export function renderForm(wanted: Form): string {
  const { action, fields = [], hidden = {}, fault, id = 'f' } = wanted;
  const names = new Map(fields.map(({ name, faultName = name }) => [faultName, name]));
  const faults = new Map(
    fault?.errors?.flatMap(({ path, message }) => (names.has(path) ? [[names.get(path) ?? '', message]] : [])),
  );
  const alert = fault && faults.size === 0 ? renderAlert(fault.message, `${id}-alert`) : '';
  const focused = fields.find(({ name, value = '' }) => (faults.size === 0 ? value === '' : faults.has(name)));
  const shown = fields.map((field) =>
    renderField(field, {
      id: `${id}-${field.name}`,
      fault: faults.get(field.name),
      describedBy: alert === '' ? undefined : `${id}-alert`,
      isFocused: field === focused && (fault !== undefined || id === 'f'),
    }),
  );
  const kept = Object.entries(hidden).filter((one): one is [string, string] => one[1] !== undefined);
  const inputs = kept.map(([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`);
  const { above = '' } = wanted;
  return `${alert}<form method="post" action="${escapeHtml(action)}">${inputs.join('')}${renderUsername(wanted)}${renderDecisions(wanted)}${above}${shown.join('')}${renderButton(wanted)}</form>`;
}

function renderDecisions({ decisions }: Form): string {
  if (!decisions) return '';
  const buttons = decisions.choices.map(
    ({ value, label, isSecond }) =>
      `<button type="submit" name="${decisions.name}" value="${value}"${isSecond ? ' class="second" formnovalidate' : ''}>${escapeHtml(label)}</button>`,
  );
  return `<div class="decisions">${buttons.join('')}</div>`;
}

const renderUsername = ({ username }: Form): string =>
  username === undefined
    ? ''
    : `<input type="text" name="username" autocomplete="username" value="${escapeHtml(username)}" readonly hidden>`;

function renderButton({ submit, isSecond, describedAs }: Form): string {
  if (submit === undefined) return '';
  const label = describedAs === undefined ? '' : ` aria-label="${escapeHtml(describedAs)}"`;
  return `<button type="submit"${isSecond ? ' class="second"' : ''}${label}>${escapeHtml(submit)}</button>`;
}

function renderField(
  field: Field,
  around: { id: string; fault?: string | undefined; describedBy?: string | undefined; isFocused: boolean },
): string {
  return field.type === 'checkbox' || field.options ? renderChoice(field, around.id) : renderInput(field, around);
}

/** Renders a select or checkbox; these never have a fault. */
function renderChoice({ name, label, hint, value = '', options, isChecked }: Field, id: string): string {
  const described = hint === undefined ? '' : ` aria-describedby="${id}-hint"`;
  const hintHtml = hint === undefined ? '' : `<span class="hint" id="${id}-hint">${escapeHtml(hint)}</span>`;
  if (!options) {
    return `<div class="field choice"><input id="${id}" name="${name}" type="checkbox" value="yes"${isChecked ? ' checked' : ''}${described}><label for="${id}">${escapeHtml(label)}</label>${hintHtml}</div>`;
  }
  const choices = options.map(
    (one) =>
      `<option value="${escapeHtml(one.value)}"${one.value === value ? ' selected' : ''}>${escapeHtml(one.label)}</option>`,
  );
  return `<div class="field"><label for="${id}">${escapeHtml(label)}</label><select id="${id}" name="${name}"${described}>${choices.join('')}</select>${hintHtml}</div>`;
}

function renderInput(
  { name, label, type = 'text', value = '', hint, isOptional, inputmode, autocomplete }: Field,
  {
    id,
    fault,
    describedBy,
    isFocused,
  }: { id: string; fault?: string | undefined; describedBy?: string | undefined; isFocused: boolean },
): string {
  const notes = [fault && `${id}-fault`, hint && `${id}-hint`, isFocused && describedBy].filter(Boolean).join(' ');
  const isLong = type === 'textarea';
  const attributes = [
    `id="${id}" name="${name}"${isLong ? ' rows="6"' : ` type="${type}"`} autocomplete="${autocomplete}"`,
    type === 'password' || value === '' || isLong ? '' : `value="${escapeHtml(value)}"`,
    type === 'email' || inputmode !== undefined ? 'autocapitalize="none" spellcheck="false"' : '',
    inputmode === undefined ? '' : `inputmode="${inputmode}"`,
    isOptional ? '' : 'required',
    fault === undefined ? '' : 'aria-invalid="true"',
    notes === '' ? '' : `aria-describedby="${notes}"`,
    isFocused ? 'autofocus' : '',
  ];
  const optional = isOptional ? ' <span class="quiet">(optional)</span>' : '';
  const written = attributes.filter(Boolean).join(' ');
  // A line end directly after the tag would be dropped.
  const input = isLong ? `<textarea ${written}>\n${escapeHtml(value)}</textarea>` : `<input ${written}>`;
  return `<div class="field"><label for="${id}">${escapeHtml(label)}${optional}</label>${input}${
    fault === undefined ? '' : `<span class="fault" id="${id}-fault">${escapeHtml(toSentence(fault))}</span>`
  }${hint === undefined ? '' : `<span class="hint" id="${id}-hint">${escapeHtml(hint)}</span>`}</div>`;
}

/** Turns a fault, which is written for programs, into a sentence. Leaves out the typed value, which is in the field. */
const toSentence = (fault: string): string => {
  const text = fault.replace(/; got [^]*$/, '');
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
};

export const renderAlert = (says: string, id = 'alert'): string =>
  `<p class="alert" role="alert" id="${id}">${escapeHtml(toSentence(says))}</p>`;

export const renderStatus = (says: string): string => `<p class="status" role="status">${escapeHtml(says)}</p>`;

export const renderLink = (to: string, label: string): string => `<a href="${escapeHtml(to)}">${escapeHtml(label)}</a>`;

/** Renders the links at the bottom of a page, one per line. */
export const renderLinks = (...links: readonly string[]): string =>
  `<p class="links">${links.filter((link) => link !== '').join('<br>')}</p>`;

/** Returns the properties of a page that differ after a refusal. */
export const afterFault = (fault: Refusal | undefined): Partial<Shown> =>
  fault ? { status: fault.status, isFault: true, retryAfterSeconds: fault.retryAfterSeconds } : {};

/** Returns a page that consists of one form, with optional HTML above and below it. */
export const showForm = (title: string, form: Form, { above = '', below = '' } = {}): Shown => ({
  title,
  content: above + renderForm(form) + below,
  ...afterFault(form.fault),
});

/** Returns the refusal of an operation as a value, so that its form is shown again; throws any other error. */
export async function attempt<T>(work: Promise<T>): Promise<T | Refusal> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/** Admits only people who are signed in; everyone else signs in first and comes back. */
export const forSignedIn =
  (handler: PageHandler<PageCtx & { session: SignedIn }>): PageHandler =>
  async (ctx, visit) =>
    ctx.session ? handler({ ...ctx, session: ctx.session }, visit) : askToSignIn(visit);

const askToSignIn = ({ target }: Visit): Redirect | Shown =>
  target.length > NEXT_CHARS_MAX ? renderTargetTooLong() : { to: withNext('/sign-in', target) };

/** Explains why the person cannot be redirected: after signing in they would end up on another page. */
const renderTargetTooLong = (): Shown => ({
  title: 'Sign in first',
  content: `<p>You need to sign in to open this page. Its address has more than ${NEXT_CHARS_MAX} characters, so you cannot be sent back to it after you sign in. Sign in, then start again where you came from, for example in the app that sent you here.</p>${renderLinks(renderLink('/sign-in', 'Sign in'))}`,
  status: 401,
  isFault: true,
});

/**
 * Returns the path to go to after signing in, as given in the address or a form: a path of this service, or undefined
 * for everything that a browser may take for another host. The text is passed on unchanged, so that the browser gets
 * exactly what was checked.
 */
export function ownPath(text: string | undefined): string | undefined {
  if (text === undefined || text.length > NEXT_CHARS_MAX || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text))
    return undefined;
  const base = 'http://own.invalid';
  const url = URL.canParse(text, base) ? new URL(text, base) : undefined;
  // Dots are taken out of a path before it is used: `/.//host` must not end as `//host` in another place.
  return url?.origin === base && !url.pathname.startsWith('//') ? text : undefined;
}

/** Returns the address of a page with `next` in it, if there is one. */
export const withNext = (path: string, next: string | undefined): string =>
  next === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}next=${encodeURIComponent(next)}`;
