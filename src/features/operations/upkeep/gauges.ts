import { statfs } from 'node:fs/promises';
import { createShared } from '../../../platform/meter/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { severityOf } from '../findings/index.ts';
import { readQueue } from '../../../mail/queue-admin/index.ts';
import type { Node } from './node.ts';

/** What a Prometheus reads of the whole installation: each process that it asks says the same. */
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
    const counts = Map.groupBy((await node.look()).findings, ({ code }) => code);
    return [...counts].map(([code, { length: value }]) => ({ value, labels: { code, severity: severityOf(code) } }));
  });
  meter.watch('rasket_nodes', async () => [{ value: (await node.look()).nodes.length }]);
  meter.watch('rasket_disk_free_bytes', async () => {
    const { bavail, bsize } = await disk();
    return [{ value: bavail * bsize }];
  });
  meter.watch('rasket_disk_size_bytes', async () => {
    const { blocks, bsize } = await disk();
    return [{ value: blocks * bsize }];
  });
}
