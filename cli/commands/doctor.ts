import { ApiFault, describeStore, lookForStore, NoAnswer, type Client, type Environment } from '../client/index.ts';
import { EXIT, explainFault, formatPairs, setOne } from '../output/index.ts';
import type { Session } from './declare.ts';
import { isSendingKey } from './login.ts';
import { askReady, formatChecks } from './system/ready.ts';

interface Findings {
  version: string;
  url: string;
  url_from: string;
  key: string | null;
  key_from: string;
  /** What the server says about the key; null where it was not asked. */
  key_state: string | null;
  /** Where keys are read from and kept, and why not in a better place. */
  key_store: string;
  ready: Awaited<ReturnType<typeof askReady>> | null;
  problems: string[];
}

/** Looks at everything that has to work for any other command to work, and stops at nothing. */
export async function examine(session: Session): Promise<void> {
  const { terminal, isJson, fail, target } = session;
  const { findings, exitCode } = await look(session);
  if (exitCode !== EXIT.done) fail(exitCode);
  if (isJson) return terminal.printJson(findings);
  const pairs = formatPairs(terminal, [
    ['Version', findings.version],
    ['Server', `${findings.url} (${findings.url_from})`],
    [
      'API key',
      findings.key === null
        ? `none${target.note === undefined ? '' : `. ${target.note}`}`
        : `${findings.key} (${findings.key_from})`,
    ],
    ['It is', findings.key_state],
    ['Kept in', findings.key_store],
  ]);
  const checks = findings.ready ? formatChecks(terminal, findings.ready.checks) : undefined;
  terminal.print([pairs, checks, ...findings.problems].filter((part) => part !== undefined).join('\n\n'));
}

/** It ends as whatever was asked of this server with this key would: by the first thing that keeps it from working. */
async function look({
  client,
  target,
  version,
  process,
  say,
}: Session): Promise<{ findings: Findings; exitCode: number }> {
  const problems: string[] = [];
  let exitCode: number = EXIT.done;
  const add = (problem: string, itsCode: number): void => {
    problems.push(problem);
    exitCode ||= itsCode;
  };
  const note = (error: unknown): null => {
    const explanation = explainFault(error, { key: target, say });
    if (!explanation) throw error;
    add(explanation.lines.join('\n'), explanation.exitCode);
    return null;
  };
  const findings: Findings = {
    version,
    url: target.url,
    url_from: target.urlFrom,
    key: target.apiKey === undefined ? null : `${target.apiKey.slice(0, SHOWN)}…`,
    key_from: target.keyFrom,
    key_state: null,
    key_store: storeInForce(process.env),
    ready: null,
    problems,
  };
  findings.ready = await askReady(client).catch(note);
  if (findings.ready?.status === 'degraded') add(findings.ready.message, EXIT.server);
  if (target.apiKey === undefined) add(`No API key is set. ${say(setOne(target))}`, EXIT.auth);
  else if (findings.ready)
    findings.key_state = await tryKey(client, target.apiKey).then(
      (isOperators) => (isOperators ? 'accepted, of an operator' : 'accepted'),
      tellApart(note),
    );
  if (isInClear(target.url))
    add(`${target.url} is not encrypted: whoever is on the way can read the key. Use https.`, EXIT.failed);
  return { findings, exitCode };
}

/** The cheapest call that it may make. Answers whether it is the token of an operator. */
async function tryKey(client: Client, apiKey: string): Promise<boolean> {
  const isOperators = apiKey.startsWith('rkop_');
  if (isOperators) await client.call('listQueueHolds', { query: { limit: 1 } });
  else await client.call('listEmails', { query: { limit: 1 } });
  return isOperators;
}

const storeInForce = (env: Environment): string =>
  env.RASKET_API_KEY
    ? 'RASKET_API_KEY, which wins; no keyring is asked'
    : describeStore('files that only you can read', lookForStore(env));

/** The prefix by which `rasket keys list` shows a key. */
const SHOWN = 10;

function tellApart(note: (error: unknown) => null): (error: unknown) => string | null {
  return (error) => {
    if (error instanceof ApiFault && isSendingKey(error)) return 'accepted, for sending only';
    note(error);
    return error instanceof NoAnswer ? null : 'refused';
  };
}

function isInClear(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
