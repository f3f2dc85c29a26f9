import { CliFault } from '../../output/index.ts';

/** Values as `--property` takes them. */
export function readProperties(given: readonly string[]): Record<string, string | number | boolean> {
  return Object.fromEntries(given.map(readProperty));
}

function readProperty(text: string): [string, string | number | boolean] {
  const [, key = '', isJson, value = ''] = /^([^:=]+)(:?)=([^]*)$/.exec(text) ?? [];
  if (key === '') throw new CliFault(`--property takes key=text or key:=value; got ${JSON.stringify(text)}`, 'usage');
  if (isJson === '') return [key, value];
  if (value === 'true' || value === 'false') return [key, value === 'true'];
  const number = Number(value);
  if (value.trim() !== '' && Number.isFinite(number)) return [key, number];
  throw new CliFault(`--property has no number, true or false behind the :=; got ${JSON.stringify(text)}`, 'usage');
}

export function readTopics(given: readonly string[]): { id: string; subscription: 'opt_in' | 'opt_out' }[] {
  return given.map((text) => {
    const [, id = '', subscription = ''] = /^([^=]+)=(opt_in|opt_out)$/.exec(text) ?? [];
    if (id === '') throw new CliFault(`--topic takes ID=opt_in or ID=opt_out; got ${JSON.stringify(text)}`, 'usage');
    return { id, subscription: subscription as 'opt_in' };
  });
}

export interface NameOptions {
  firstName?: string;
  lastName?: string;
  property?: string[];
}

/** A name of no letters is none. */
const nameOf = (text: string): string | null => (text === '' ? null : text);

export function readNames({ firstName, lastName }: NameOptions): {
  first_name?: string | null;
  last_name?: string | null;
} {
  return {
    ...(firstName === undefined ? {} : { first_name: nameOf(firstName) }),
    ...(lastName === undefined ? {} : { last_name: nameOf(lastName) }),
  };
}
