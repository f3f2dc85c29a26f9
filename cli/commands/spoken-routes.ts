import type { Command } from 'commander';
import { quoted, routeOf, type OperationId } from '../client/index.ts';
import * as families from '../families/index.ts';
import { namesOf } from './field-names.ts';
import { commandAt } from './type-again.ts';

const ROUTE = /\b(GET|POST|PATCH|DELETE) (\/[\w/-]*\w)/g;

/**
 * The calls that a message of the API advises, as commands: `POST /domains/ID/verify` is `rasket domains verify ID`. What
 * was typed for a thing stands for its id, and a name that was typed is the name there too. A call that no family has
 * stays as it is.
 */
export function speakRoutes(command: Command, message: string): string {
  return message.replaceAll(ROUTE, (route, method: string, path: string) => {
    for (const { operation, words, isNamed } of spoken(command)) {
      const [itsMethod, template] = routeOf(operation);
      const found =
        itsMethod === method ? new RegExp(`^${template.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`).exec(path) : null;
      if (!found) continue;
      const typed = Object.entries(found.groups ?? {}).map(([name, value]) => typedFor(command, name) ?? value);
      const name = isNamed ? typedAs(command, '<name>') : undefined;
      return ['rasket', ...words, ...typed, ...(name === undefined ? [] : [quoted(name)])].join(' ');
    }
    return route;
  });
}

/** Every operation that a family declares, with the words of its command. */
function* spoken(command: Command): Generator<{ operation: OperationId; words: string[]; isNamed: boolean }> {
  const root = rootOf(command);
  for (const family of Object.values(families)) {
    if (typeof family !== 'object' || !('command' in family)) continue;
    const { command: name, list, get, report, actions = [] } = family as families.Family;
    for (const one of [list, get, report, ...actions].filter((each) => each !== undefined)) {
      const words = [[name, one.verb], [one.verb]].find((path) => commandAt(root, path)[1] === path.length);
      const isNamed = 'flags' in one && one.flags.name?.isRequired === true;
      if (words) yield { operation: one.operation as OperationId, words, isNamed };
    }
  }
}

const rootOf = (command: Command): Command => (command.parent ? rootOf(command.parent) : command);

function typedFor(command: Command, parameter: string): string | undefined {
  const argument = namesOf(command)[parameter];
  return argument === undefined ? undefined : typedAs(command, argument);
}

function typedAs(command: Command, argument: string): string | undefined {
  const at = command.registeredArguments.findIndex((one) => `<${one.name()}>` === argument);
  const typed: unknown = command.processedArgs[at];
  return typeof typed === 'string' ? typed : undefined;
}
