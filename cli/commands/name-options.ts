import type { Command } from 'commander';
import { namesOf } from './field-names.ts';

/** A field in a message: the path of one (`to.0`, `capabilities.sending`) or a name of several words (`scheduled_at`). */
const FIELD = /(?<![\w.@-])[a-z]+(?:[_.][a-z0-9]+)+(?![\w@-])/g;

/** A field of one of the things that a body is a list of: `1.to`. */
const PLACE = /(?<![\w.@-])(\d+)\.([a-z_]+(?:\.\w+)*)/g;

/**
 * The API speaks of fields; at a command line they are options. `paths` are the fields that the answer itself
 * names; beside these, only what can be nothing but a field is translated.
 */
export function nameOptions(command: Command): (message: string, paths: readonly string[]) => string {
  const one = namesOf(command)['*'];
  return (message, paths) => {
    if (one !== undefined) return countFromOne(message, one);
    const isNamed = (path: string): boolean => paths.includes(path) || isSurely(command, path);
    const inside = message.replaceAll(FIELD, (path) => (isNamed(path) ? optionOf(command, path) : path));
    const [first = ''] = /^[a-z]+(?=[ :])/.exec(inside) ?? [];
    return first === '' ? inside : optionOf(command, first) + inside.slice(first.length);
  };
}

/** The API counts from 0, as programs do: its `Email 1` and `1.to` are of the second one. */
const countFromOne = (message: string, one: string): string =>
  message
    .replace(/^Email (\d+)(?=:)/, (_, at: string) => `Email ${Number(at) + 1}`)
    .replaceAll(PLACE, (_, at: string, field: string) => `${field} of the ${ordinal(Number(at) + 1)} ${one}`);

/** A host name looks like a path, so that only a place in a list or a declared field is taken for one. */
function isSurely(command: Command, path: string): boolean {
  return !path.includes('.') || /\.\d+(\.|$)/.test(path) || path in namesOf(command);
}

/** The option that fills a field; the field itself where there is none. */
function optionOf(command: Command, path: string): string {
  const names = namesOf(command);
  if (names[path] !== undefined) return names[path];
  const [field = '', ...parts] = path.split('.');
  const option = names[field] ?? spokenOf(command, field);
  if (option === undefined) return path;
  const [at, ...inner] = /^\d+$/.test(parts[0] ?? '') ? [Number(parts[0]), ...parts.slice(1)] : [undefined, ...parts];
  const given = at === undefined ? [] : valuesOf(command, option);
  const which = at !== undefined && given.length > 1 ? `${ordinal(at + 1)} ` : '';
  return `${which === '' ? '' : `the ${which}`}${option}${inner.length > 0 ? ` (${inner.join('.')})` : ''}`;
}

function spokenOf(command: Command, field: string): string | undefined {
  const word = field.replaceAll('_', '-');
  const option = command.options.find(({ long }) => long === `--${word}`);
  if (option) return option.long;
  const argument = command.registeredArguments.find((one) => [word, word.replace(/-id$/, '')].includes(one.name()));
  return argument && `<${argument.name()}>`;
}

function valuesOf(command: Command, option: string): readonly unknown[] {
  const found = command.options.find(({ long }) => long === option);
  const value: unknown = found && command.getOptionValue(found.attributeName());
  if (Array.isArray(value)) return value;
  return command.processedArgs.find((word): word is unknown[] => Array.isArray(word)) ?? [];
}

function ordinal(count: number): string {
  const ending = { 1: 'st', 2: 'nd', 3: 'rd' }[count % 100 > 10 && count % 100 < 14 ? 0 : count % 10] ?? 'th';
  return `${count}${ending}`;
}
