import { InvalidArgumentError, type Command } from 'commander';
import { optionOf, type Flag, type Key } from '../families/flag.ts';
import { sayNames } from '../families/named.ts';
import { eventTypesHelp, typeIn, typesIn } from '../input/event-types.ts';
import { collect } from './collect.ts';
import { wholeNumber } from './declare.ts';
import { nameFields } from './field-names.ts';

/** The words of a path; `isRead` says that what they name is only looked at. */
export function addWords(command: Command, keys: Readonly<Record<string, Key>>, isRead = false): Command {
  for (const [parameter, { word, says, isVariadic, isOptional }] of Object.entries(keys)) {
    const names = isOptional ? undefined : sayNames(parameter, isRead);
    command.argument(isOptional ? `[${word}]` : isVariadic ? `<${word}...>` : `<${word}>`, names ?? says);
    nameFields(command, { [parameter]: `<${word}>` });
  }
  return command;
}

/** A word or an option for each field. */
export function addFlags(command: Command, flags: Readonly<Record<string, Flag>>): void {
  for (const [field, flag] of Object.entries(flags)) {
    if (flag.place === 'form') continue;
    const { value = '', isWord } = flag;
    if (isWord)
      command.argument(
        takenBy(flag),
        flag.orStdin ? `${flag.says}, or - for standard input` : flag.says,
        parserOf(flag),
      );
    else addOption(command, optionOf(field, flag), flag);
    nameFields(command, { [field]: isWord ? value : `--${optionOf(field, flag)}` });
  }
  if (Object.values(flags).some(({ syntax }) => syntax?.startsWith('event type')))
    command.addHelpText('after', () => `\n${eventTypesHelp()}`);
}

function addOption(command: Command, name: string, flag: Flag): void {
  const { isRepeatable, isRequired, isBoolean, no, clear, fromFile, orElse, syntax, preset } = flag;
  const option = command.createOption(
    isBoolean ? `--${name}` : `--${name} ${takenBy(flag)}`,
    isRepeatable ? `${flag.says}; repeatable` : flag.says,
  );
  const parse = parserOf(flag);
  // By its parser a line that is typed again knows that it is repeated.
  if (isRepeatable) option.argParser(collect);
  else if (parse) option.argParser(parse);
  if (preset !== undefined) option.default(preset);
  // What may stand in its place is known when all of the line is read.
  const isMandatory = isRequired && !fromFile && !orElse && preset === undefined && syntax !== 'event types';
  command.addOption(option.makeOptionMandatory(isMandatory === true));
  if (no !== undefined) command.option(`--no-${name}`, no);
  if (fromFile !== undefined)
    command.option(`--${name}-file <file>`, `a file with the ${fromFile}, - for standard input`);
  if (clear?.value !== undefined)
    command.option(`--clear-${name} ${clear.value}`, `${clear.says}; repeatable`, collect);
  else if (clear) command.option(`--clear-${name}`, clear.says);
}

const takenBy = ({ value = '', isVariadic }: Flag): string => (isVariadic ? value.replace('>', '...>') : value);

/** As commander calls it. */
type Parse = (text: string, before: unknown) => unknown;

function parserOf({ isNumber, syntax }: Flag): Parse | undefined {
  if (isNumber) return wholeNumber;
  if (syntax === 'event types') return (text) => refusing(typesIn, text);
  return syntax === 'event type' ? (text) => refusing(typeIn, text) : undefined;
}

/** What is wrong is said of the option, as commander does. */
function refusing<Value>(read: (text: string) => Value, text: string): Value {
  try {
    return read(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}
