import { isMachineAgent } from './machine-agents.ts';

export interface Fetch {
  method?: string | undefined;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Whether a request says itself that a program made it: by its program, by asking for headers alone, or by fetching ahead. */
export const isMachineFetch = ({ method, headers }: Fetch): boolean =>
  method === 'HEAD' ||
  isMachineAgent(String(headers['user-agent'] ?? '')) ||
  AHEAD.some((name) => isAhead(headers[name]));

const AHEAD = ['purpose', 'sec-purpose', 'x-purpose', 'x-moz'];

const isAhead = (said: string | string[] | undefined): boolean =>
  said !== undefined && /prefetch|preview|prerender/i.test(String(said));
