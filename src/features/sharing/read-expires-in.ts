import { invalidFields } from '../../platform/refusal/index.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const HOURS_MAX = 48;
export const SHARE_MS_MAX = HOURS_MAX * HOUR_MS;

const UNIT_MS: Record<string, number> = { s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: 24 * HOUR_MS };

const FORM = /^\s*(\d+)\s*(s|seconds?|m|minutes?|h|hours?|d|days?)\s*$/i;
const SHOWN_CHARS_MAX = 60;

/** How long a link works, in milliseconds: as long as one may when nothing is said. */
export function readExpiresIn(text: string | undefined): number {
  if (text === undefined) return SHARE_MS_MAX;
  const [, count, unit] = FORM.exec(text) ?? [];
  if (count === undefined || unit === undefined) {
    throw refused(
      `must be a whole number and a unit (s, m, h, d, or seconds, minutes, hours, days), such as 30 minutes, and at most ${HOURS_MAX} hours; got ${shown(text)}`,
    );
  }
  const ms = Number(count) * (UNIT_MS[unit.charAt(0).toLowerCase()] ?? 0);
  if (ms === 0) throw refused(`must be more than 0 and at most ${HOURS_MAX} hours; got ${shown(text)}`);
  if (ms > SHARE_MS_MAX) throw refused(`must be at most ${HOURS_MAX} hours; got ${shown(text)}`);
  return ms;
}

const shown = (text: string): string =>
  text.length > SHOWN_CHARS_MAX
    ? `${JSON.stringify(text.slice(0, SHOWN_CHARS_MAX))}… (${text.length} characters)`
    : JSON.stringify(text);

const refused = (rule: string) => invalidFields([{ path: 'expires_in', message: `expires_in ${rule}` }]);
