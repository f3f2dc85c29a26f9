import os from 'node:os';
import { repeat } from '../../../platform/clock.ts';
import { ObjectStoreFault } from '../../../platform/object-store/index.ts';
import type { World } from '../../../platform/world.ts';
import { buildFinding, findSeverity, type Finding } from '../../../platform/finding.ts';
import { forgetNode, forgetOthersWhereAlone, REPORT_MS, reportNode, type NodeReport } from '../findings/node-report.ts';
import { loadFindingsReport, type FindingsReport } from '../findings/findings-report.ts';
import { statfs } from 'node:fs/promises';
import { createShared } from '../../../platform/meter/index.ts';
import { readQueue } from '../../../mail/queue-admin/index.ts';

/** A restart or fail-over of the database ends sooner. */
const DEAF_MS_MAX = 5 * 60_000;

/**
 * Listens for commits of other processes, so that this one polls at once; without it polling works as well, only later.
 * Returns a function that stops it.
 */
export function hearOtherNodes(world: World, node: Pick<Node, 'watch'>): () => Promise<void> {
  const { db, log, config, random, clock, meter } = world;
  const hearing = db.hear({
    url: config.database.listen_url,
    random,
    onFault: (err) =>
      log.warn({ err }, 'not notified of commits by other nodes; polling until notifications work again'),
  });
  let outage: { of: number; since: number } | undefined;
  node.watch(() => {
    const deafSince = hearing.deafSince();
    if (deafSince === undefined) outage = undefined;
    else if (outage?.of !== deafSince) outage = { of: deafSince, since: clock.now() };
    const isLong = outage !== undefined && clock.now() - outage.since >= DEAF_MS_MAX;
    return isLong && outage ? [buildFinding('nodes_not_heard', { since: outage.since })] : [];
  });
  node.watch(() => {
    const rivals = db.rivalServers();
    if (rivals === undefined) return [];
    const summary = `More than one PostgreSQL server accepts writes; not used: ${rivals.hosts.join(', ')}.`;
    return [buildFinding('database_split', { summary, since: rivals.since })];
  });
  meter.watch('rasket_nodes_heard', () => [{ value: hearing.deafSince() === undefined ? 1 : 0 }]);
  return () => hearing.close();
}

/** Exports metrics of the whole installation, which are the same on each process that Prometheus scrapes. */
export function watchInstallation(world: World, { node, version }: { node: Node; version: string }): void {
  const { meter, clock } = world;
  const queue = createShared(clock.now, () => readQueue(world));
  const disk = createShared(clock.now, () => statfs(world.dataDir));
  meter.watch('rasket_build_info', () => [{ value: 1, labels: { version } }]);
  meter.watch('rasket_sending_on', async () => [{ value: (await queue()).sending.is_on ? 1 : 0 }]);
  meter.watch('rasket_queue_deliveries', async () =>
    Object.entries((await queue()).states).map(([state, value]) => ({ value, labels: { state } })),
  );
  meter.watch('rasket_queue_domain_deliveries', async () =>
    (await queue()).destinations
      .slice(0, world.config.metrics.domains)
      .map(({ destination: domain, deliveries: value }) => ({ value, labels: { domain } })),
  );
  meter.watch('rasket_queue_oldest_seconds', async () => {
    const { oldest_at: oldestAt } = await queue();
    return [{ value: oldestAt === null ? 0 : Math.max(0, (clock.now() - Date.parse(oldestAt)) / 1000) }];
  });
  meter.watch('rasket_findings', async () => {
    const alike = Map.groupBy((await node.loadReport()).findings, (one) => `${one.code} ${findSeverity(one)}`);
    return [...alike.values()].flatMap(({ 0: first, length: value }) =>
      first === undefined ? [] : [{ value, labels: { code: first.code, severity: findSeverity(first) } }],
    );
  });
  meter.watch('rasket_nodes', async () => [{ value: (await node.loadReport()).nodes.length }]);
  meter.watch('rasket_disk_free_bytes', async () => {
    const { bavail, bsize } = await disk();
    return [{ value: bavail * bsize }];
  });
  meter.watch('rasket_disk_size_bytes', async () => {
    const { blocks, bsize } = await disk();
    return [{ value: blocks * bsize }];
  });
}

/** This process as one node of the installation: what only it knows of itself, and what it reports to the others. */
export interface Node {
  /** Adds a source of current findings of this process. */
  watch(source: () => readonly Finding[]): void;
  /** Returns the report of this process. */
  report(): Promise<NodeReport>;
  /** Returns the findings of the whole installation; concurrent callers share one query. */
  loadReport(): Promise<FindingsReport>;
  /** Does the same with a new query, which sees everything written before. */
  reloadReport(): Promise<FindingsReport>;
  /** Returns the findings that are known without reading the database or the disk. */
  atHand(): readonly Finding[];
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function createNode(world: World, { version, roles }: { version: string; roles: readonly string[] }): Node {
  const { blobs, clock, ids, log } = world;
  const id = ids.uuid();
  const startedAt = clock.now();
  const name = `${os.hostname()} ${process.pid}`;
  const sources: (() => readonly Finding[])[] = [];
  let unwritableSince: number | undefined;
  let looking: Promise<FindingsReport> | undefined;
  let telling: Promise<void> = Promise.resolve();
  let end = (): void => undefined;

  const atHand = (): readonly Finding[] => sources.flatMap((source) => source());

  async function ofStorage(): Promise<Finding[]> {
    try {
      await blobs.check();
      unwritableSince = undefined;
      return [];
    } catch (error) {
      unwritableSince ??= clock.now();
      const why = (error as NodeJS.ErrnoException).code ?? 'unknown';
      const summary =
        error instanceof ObjectStoreFault
          ? `Nothing can be written to the blob store: ${error.message}.`
          : `Nothing can be written to the data folder (${why}).`;
      return [buildFinding('storage_unwritable', { summary, since: unwritableSince })];
    }
  }

  async function report(): Promise<NodeReport> {
    const findings = [...atHand(), ...(await ofStorage())];
    return { id, name, version, roles, startedAt, seenAt: clock.now(), findings };
  }

  /** Sends the report; a failure is retried in half a minute, and nothing else depends on it. */
  function sendReport(): Promise<void> {
    telling = report()
      .then((own) => reportNode(world, own))
      .catch((error: unknown) => log.error({ err: error }, 'could not report this node to the other nodes'));
    return telling;
  }

  function loadReport(): Promise<FindingsReport> {
    looking ??= report()
      .then((own) => loadFindingsReport(world, own))
      .finally(() => (looking = undefined));
    return looking;
  }

  return {
    report,
    atHand,
    loadReport,
    reloadReport: () => (looking ? looking.then(loadReport, loadReport) : loadReport()),
    watch: (source) => void sources.push(source),
    async start() {
      await forgetOthersWhereAlone(world);
      await sendReport();
      end = repeat(clock, REPORT_MS, sendReport);
    },
    async stop() {
      end();
      await telling;
      await forgetNode(world, id).catch((error: unknown) =>
        log.warn({ err: error }, 'could not report to the other nodes that this node stops'),
      );
    },
  };
}
