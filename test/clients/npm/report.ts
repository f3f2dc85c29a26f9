// Reports calls of the clients that npm has. The packages are in SDK_SOURCES; everything else comes from the environment.
import path from 'node:path';
import type { Fixtures } from '../fixtures.ts';

export const FIXTURES = JSON.parse(process.env['CLIENT_FIXTURES'] ?? '{}') as Fixtures;
export const PACKAGES = path.join(process.env['SDK_SOURCES'] ?? '', 'node_modules');

// oxlint-disable-next-line typescript/no-explicit-any -- the responses of a hundred operations.
export type Answer = any;

async function notify(at: 'begin' | 'end', body: object): Promise<Answer> {
  const response = await fetch(`${process.env['CLIENT_PROXY']}/-/${at}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return text === '' ? undefined : (JSON.parse(text) as Answer);
}

export interface Expected {
  /** The package that makes the request. */
  file?: string;
  refused?: string;
  reads?: string[];
}

/** Makes one call; returns the last response that the server gave to it. */
export async function report(
  name: string,
  { reads = [], ...about }: Expected,
  make: () => Promise<unknown>,
): Promise<Answer> {
  await notify('begin', { name, ...about });
  try {
    await make();
  } catch (error) {
    return notify('end', { error: String(error) });
  }
  return notify('end', { reads });
}
