import os from 'node:os';
import { repeat } from '../../../platform/clock/index.ts';
import { ObjectStoreFault } from '../../../platform/object-store/index.ts';
import type { World } from '../../../platform/world/index.ts';
import {
  findingOf,
  forgetNode,
  forgetOthersWhereAlone,
  lookAtInstallation,
  REPORT_MS,
  reportNode,
  type Finding,
  type Look,
  type NodeReport,
} from '../findings/index.ts';

/** This process, as one node of the installation: what it knows of itself alone, and what it tells the others. */
export interface Node {
  /** Adds somebody who knows what is wrong here at this moment. */
  watch(source: () => readonly Finding[]): void;
  /** What is wrong here. */
  report(): Promise<NodeReport>;
  /** What is wrong with the whole installation; callers that come together share one look. */
  look(): Promise<Look>;
  /** The same by a look that begins now: what was written before is seen. */
  lookAnew(): Promise<Look>;
  /** What is known without asking database or disk. */
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
  let looking: Promise<Look> | undefined;
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
      return [findingOf('storage_unwritable', { summary, since: unwritableSince })];
    }
  }

  async function report(): Promise<NodeReport> {
    const findings = [...atHand(), ...(await ofStorage())];
    return { id, name, version, roles, startedAt, seenAt: clock.now(), findings };
  }

  /** Told again in half a minute where it fails: nothing else depends on it. */
  function tell(): Promise<void> {
    telling = report()
      .then((own) => reportNode(world, own))
      .catch((error: unknown) => log.error({ err: error }, 'could not tell the other nodes of this one'));
    return telling;
  }

  function look(): Promise<Look> {
    looking ??= report()
      .then((own) => lookAtInstallation(world, own))
      .finally(() => (looking = undefined));
    return looking;
  }

  return {
    ...{ report, atHand, look },
    lookAnew: () => (looking ? looking.then(look, look) : look()),
    watch: (source) => void sources.push(source),
    async start() {
      await forgetOthersWhereAlone(world);
      await tell();
      end = repeat(clock, REPORT_MS, tell);
    },
    async stop() {
      end();
      await telling;
      await forgetNode(world, id).catch((error: unknown) =>
        log.warn({ err: error }, 'could not sign off from the other nodes'),
      );
    },
  };
}
