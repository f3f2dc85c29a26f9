import { isoTime } from '../../../platform/clock.ts';
import type { Store } from '../../../platform/store.ts';
import { accountSender } from '../../identity/index.ts';
import { asksForCertificates } from '../certificates/certificates.ts';
import { certificatesInTrouble } from '../certificates/certificates.store.ts';
import { createSendSwitch, sendSwitchMovedAt } from '../../../tenancy/instance/index.ts';
import { listDamaged } from '../../../mail/contents/index.ts';
import { hasUsers } from '../../../tenancy/users/index.ts';
import { backupFindings, policyFindings, providerFindings } from './installation-findings.ts';
import { lastExaminations, type Checked } from './examinations.ts';
import {
  COUNTED_MAX,
  buildFinding,
  gravestFirst,
  isProven,
  KNOWN,
  findSeverity,
  type Finding,
} from '../../../platform/finding.ts';
import { missedPayments, oldestDue } from './findings.store.ts';
import { liveNodes, type NodeReport } from './node-report.ts';
import { findRefusedDomains } from './refusal-findings.ts';
import { teamFindings } from './team-findings.ts';
import { listOperators } from '../../../tenancy/operators/index.ts';

const AS_OPERATOR = 'As an operator, ';

/** Advice for an operator needs a token, which a new installation lacks: puts the command that creates one first. */
async function withWayToOperator({ db }: Pick<Store, 'db'>, findings: readonly Finding[]): Promise<Finding[]> {
  const isMeant = ({ advice }: Finding): boolean => advice.words.startsWith(AS_OPERATOR);
  if (!findings.some(isMeant)) return [...findings];
  if ((await listOperators(db)).some(({ revoked_at: revokedAt }) => revokedAt === null)) return [...findings];
  return findings.map((finding) => (isMeant(finding) ? { ...finding, advice: firstToken(finding.advice) } : finding));
}

function firstToken({ words, command }: Finding['advice']): Finding['advice'] {
  const then = command === null ? '' : ` (${command})`;
  return {
    words: `An operator could ${words.slice(AS_OPERATOR.length)}${then}, but there is none yet. On the server’s machine, create one first`,
    command: 'rasket operators create NAME',
  };
}

export interface FindingsReport {
  at: number;
  nodes: readonly NodeReport[];
  /** Results of the checks of other systems. */
  checks: readonly Checked[];
  /** Gravest first. */
  findings: readonly Finding[];
}

/** Returns all findings; `own` is the report of this process, if it is one of the nodes. */
export async function loadFindingsReport(store: Store, own?: NodeReport): Promise<FindingsReport> {
  const { nodes, checks, findings, ofDomains } = await loadMachineFindings(store, own);
  const ofTeams = [...(await findRefusedDomains(store.db, ofDomains, undefined)), ...(await teamFindings(store))];
  return {
    at: store.clock.now(),
    nodes,
    checks,
    findings: await withWayToOperator(store, gravestFirst([...findings, ...ofTeams])),
  };
}

/** Returns the findings for one team; those of the installation are worded generally and name nothing of it. */
export async function loadTeamFindings(store: Store, teamId: string, own?: NodeReport): Promise<Finding[]> {
  const { findings, ofDomains } = await loadMachineFindings(store, own);
  const told = findings.map((finding) => (finding.code === 'sending_off' ? finding : inGeneral(finding)));
  const refused = await findRefusedDomains(store.db, ofDomains, teamId);
  return gravestFirst([...eachOnce(told), ...refused, ...(await teamFindings(store, teamId))]);
}

/** Strips a finding to what anybody may see. */
const inGeneral = ({ code, since, severity }: Finding): Finding => buildFinding(code, { since, severity });

/** Keeps the gravest finding of each code: several nodes may report the same. */
const eachOnce = (findings: readonly Finding[]): Finding[] =>
  [...Map.groupBy(gravestFirst(findings), ({ code }) => code).values()].flatMap((alike) => alike.slice(0, 1));

interface Machines extends Omit<FindingsReport, 'at'> {
  /** Findings of nodes about domains of teams, shown to those teams by name. */
  ofDomains: readonly Finding[];
}

async function loadMachineFindings(store: Store, own?: NodeReport): Promise<Machines> {
  const others = (await liveNodes(store)).filter(({ id }) => id !== own?.id);
  const nodes = own ? [own, ...others] : others;
  const isApart = nodes.length > 1;
  const reported = nodes.flatMap(({ name, findings }) =>
    findings.map((finding) => (isApart ? { ...finding, node: name } : finding)),
  );
  const checks = await lastExaminations(store);
  return {
    nodes,
    checks,
    ofDomains: reported.filter(({ refusals }) => refusals !== undefined),
    findings: [
      ...reported.filter(({ refusals }) => refusals === undefined),
      ...ofExaminations(checks),
      ...ofNodes(nodes),
      ...(await ofSending(store)),
      ...(await ofAccounts(store)),
      ...(await ofPayments(store)),
      ...(await ofCertificates(store)),
      ...(await backupFindings(store)),
      ...(await providerFindings(store)),
      ...(await policyFindings(store)),
      ...(await ofContents(store)),
      ...ofCapture(store),
    ],
  };
}

/** Names the machine of each finding if there are several. */
function ofExaminations(checks: readonly Checked[]): Finding[] {
  const isApart = new Set(checks.map(({ machine }) => machine)).size > 1;
  return checks.flatMap(({ machine, findings }) =>
    findings.map((finding) => (isApart ? { ...finding, node: machine } : finding)),
  );
}

function ofNodes(nodes: readonly NodeReport[]): Finding[] {
  const versions = [...new Set(nodes.map(({ version }) => version))];
  const names = nodes.map(({ name, version }) => `${name}: ${version}`);
  return [
    ...(nodes.some(({ roles }) => roles.includes('delivery')) ? [] : [buildFinding('delivery_not_running')]),
    ...(versions.length > 1
      ? [buildFinding('versions_differ', { summary: `Nodes run ${versions.join(' and ')}.`, subjects: names })]
      : []),
  ];
}

const MINUTE_MS = 60_000;
/** Names of the lanes in the order of their numbers in mail/queue. */
const LANES = ['transactional', 'bulk', 'retrying', 'retrying_bulk'];

async function ofSending(store: Store): Promise<Finding[]> {
  const { isOn, reason, isRestored = false } = await createSendSwitch(store)();
  if (!isOn) {
    const why = reason === null ? '' : `: ${reason}`;
    const since = await sendSwitchMovedAt(store);
    if (isRestored) return [buildFinding('restored', { since })];
    return [buildFinding('sending_off', { summary: `Sending is switched off${why}.`, since })];
  }
  const before = store.clock.now() - store.config.delivery.overdue_minutes * MINUTE_MS;
  const late = (await oldestDue(store.db)).filter(({ due_at: due }) => due < before);
  if (late.length === 0) return [];
  const since = Math.min(...late.map(({ due_at: due }) => due));
  const subjects = late.map(({ lane }) => (lane === null ? 'claimed' : (LANES[lane] ?? String(lane))));
  const summary = `Mail that is due is not being delivered (${subjects.join(', ')}).`;
  return [buildFinding('queue_overdue', { summary, since, subjects })];
}

/** Reports that account mail cannot be sent; an installation without accounts needs none. */
async function ofAccounts(store: Store): Promise<Finding[]> {
  if (!(await hasUsers(store.db)) || (await accountSender(store)) !== undefined) return [];
  const { mail_from: from } = store.config.accounts;
  const why =
    from === '' ? 'no team has a verified domain' : `accounts.mail_from is ${from}, which is not on a verified domain`;
  return [
    buildFinding('account_mail', {
      summary: `Account mail cannot be sent: ${why}.`,
      subjects: from === '' ? [] : [from],
    }),
  ];
}

async function ofPayments({ db }: Store): Promise<Finding[]> {
  const missed = await missedPayments(db);
  const [first] = missed;
  if (!first) return [];
  const many = missed.length === 1 ? 'a subscription' : `${missed.length} subscriptions`;
  const summary = `The payment provider has changed ${many} without sending an event.`;
  const subjects = missed.map(({ team_id: id }) => `team ${id}`);
  return [buildFinding('payment_events_missing', { summary, subjects, since: first.missed_since })];
}

/** Reports captured mail; the development profile captures on purpose. */
const ofCapture = ({ config }: Store): Finding[] =>
  config.delivery.capture && config.profile !== 'development' ? [buildFinding('mail_captured')] : [];

/** Reports stored files that are known to be damaged, each with its fault. */
async function ofContents(store: Store): Promise<Finding[]> {
  const files = await listDamaged(store, COUNTED_MAX);
  const [first] = files;
  if (!first) return [];
  const locateContent = ({ owner_id: owner, name }: typeof first): string => store.blobs.locate(`${owner}/${name}`);
  const rest = files.length === 1 ? '' : `, and ${files.length - 1} more are damaged`;
  const summary = `Stored content is damaged: ${locateContent(first)} ${first.damage}${rest}.`;
  return [buildFinding('content_damaged', { summary, subjects: files.map(locateContent), since: first.damaged_at })];
}

/** Reports names without a certificate. Each process itself reports the certificate that it presents meanwhile. */
async function ofCertificates({ config, db }: Store): Promise<Finding[]> {
  if (!asksForCertificates(config)) return [];
  const failing = await certificatesInTrouble(db);
  const [first] = failing;
  if (!first) return [];
  const rest = failing.length === 1 ? '' : `, nor for ${failing.length - 1} more`;
  const summary = `No certificate is issued for ${first.name}${rest}: ${first.error ?? 'unknown'}. Next try at ${isoTime(first.next_try_at)}.`;
  const subjects = failing.map(({ name }) => name);
  return [buildFinding('certificate_not_issued', { summary, subjects, since: first.failing_since })];
}

export const presentFinding = (finding: Finding) => ({
  code: finding.code,
  severity: findSeverity(finding),
  summary: finding.summary,
  count: finding.count,
  subjects: finding.subjects,
  since: finding.since === null ? null : isoTime(finding.since),
  node: finding.node,
  advice: finding.advice,
});

export const presentForTeam = (findings: readonly Finding[], at: number) => ({
  object: 'findings' as const,
  as_of: isoTime(at),
  findings: findings.map(presentFinding),
});

export const presentForOperator = ({ at, nodes, checks, findings }: FindingsReport) => ({
  object: 'operator_findings' as const,
  as_of: isoTime(at),
  nodes: nodes.map(({ name, version, roles, startedAt, seenAt }) => ({
    name,
    version,
    roles: [...roles],
    started_at: isoTime(startedAt),
    seen_at: isoTime(seenAt),
  })),
  checks: checks.map(({ name, machine, state, summary, checkedAt }) => ({
    name,
    machine,
    state,
    summary,
    checked_at: isoTime(checkedAt),
  })),
  findings: findings.map(presentFinding),
});

/**
 * Presents findings to callers without a credential: only proven ones, as codes and wording that is the same on every
 * installation.
 */
export const presentForAnybody = (findings: readonly Finding[]) =>
  eachOnce(findings.filter(isProven)).map((finding) => {
    const { says, advice } = KNOWN[finding.code];
    return { code: finding.code, severity: findSeverity(finding), summary: says, advice };
  });
