import { invalidFields, Refusal, type FieldFault } from '../../../platform/refusal/index.ts';
import { keysOf } from '../../../protocol/merge/index.ts';
import { isOneLine } from './content.ts';
import type { PublishedVersion } from './published-versions.ts';
import { valueFault } from './variables.ts';

const VALUES_MAX = 50;
/** Keys are free text: an error message shows the start of a long one. */
const KEY_CHARS_SHOWN = 60;

/**
 * Returns the values of a send as text. The refusal names every invalid and every missing value. A key for which
 * `isFilled` returns true has a value of the recipient's own, so the send may omit it.
 */
export function readValues(
  version: PublishedVersion,
  given: Readonly<Record<string, unknown>>,
  { rendersSubject, isFilled = () => false }: { rendersSubject: boolean; isFilled?: (key: string) => boolean },
): Map<string, string> {
  const entries = Object.entries(given);
  if (entries.length > VALUES_MAX) {
    const message = `template.variables may hold at most ${VALUES_MAX} values; got ${entries.length}.`;
    throw invalidFields([{ path: 'template.variables', message }]);
  }
  const faults: FieldFault[] = [];
  const values = new Map<string, string>();
  const inSubject = rendersSubject ? keysOf(version.subject ?? []) : new Set<string>();
  for (const [key, value] of entries) {
    const says = faultOf(version, key, value) ?? (inSubject.has(key) ? subjectFault(String(value)) : undefined);
    if (says === undefined) values.set(key, String(value));
    else faults.push(faultAt(key, says));
  }
  const { bodies, subject } = version.needs;
  for (const key of new Set([...bodies, ...(rendersSubject ? subject : [])])) {
    if (Object.hasOwn(given, key) || isFilled(key)) continue;
    faults.push(faultAt(key, 'is missing; the template declares no fallback_value for it.'));
  }
  if (faults.length > 0) throw invalidFields(faults);
  return values;
}

function faultOf({ variables }: PublishedVersion, key: string, value: unknown): string | undefined {
  const variable = variables.get(key);
  if (variable) return valueFault(variable.type, value);
  const known = variables.size === 0 ? 'it declares none' : `declared are ${[...variables.keys()].join(', ')}`;
  return `is not a variable of this template; ${known}.`;
}

function subjectFault(value: string): string | undefined {
  return isOneLine(value) ? undefined : 'stands in the subject and must be one line without control characters.';
}

function faultAt(key: string, says: string): FieldFault {
  const shown = key.length > KEY_CHARS_SHOWN ? `${key.slice(0, KEY_CHARS_SHOWN)}…` : key;
  const path = `template.variables.${shown}`;
  return { path, message: `${path} ${says}` };
}

/** What a send with these values would be refused for; those that are only known later are held to be right. */
export function valueFaults(
  version: PublishedVersion,
  given: Readonly<Record<string, unknown>>,
  {
    rendersSubject,
    isLater,
    isFilled,
  }: { rendersSubject: boolean; isLater: (value: unknown) => boolean; isFilled: (key: string) => boolean },
): string[] {
  const assumed = Object.entries(given).map(([key, value]) => {
    const stands = version.variables.get(key)?.type === 'number' ? 0 : 'x';
    return [key, isLater(value) ? stands : value];
  });
  try {
    readValues(version, Object.fromEntries(assumed) as Record<string, unknown>, { rendersSubject, isFilled });
    return [];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return (error.errors ?? []).map(({ message }) => message);
  }
}
