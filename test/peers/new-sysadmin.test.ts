// The path of a new sysadmin, from install.sh to a restored copy, as docs/installing.md tells it.
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { describePeers } from './peers.ts';
import { Machine } from '../install/machine.ts';
import { root } from '../install/tree.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 120_000 });

const FOLDER = '/var/lib/neighbours';
/** Another address of loopback, as that of an interface would be. */
const ADDRESS = `use Socket; socket(S, PF_INET, SOCK_DGRAM, 0); my $a = pack("a16 S n a4 x8", "lo:0", AF_INET, 0, inet_aton("192.0.2.10")); ioctl(S, 0x8916, $a) or die $!`;

const machine = new Machine({ hasPrivilege: true });
const isPossible = Machine.isPossible();

describePeers('the path of a new sysadmin', ['pebble'], () => {
  beforeAll(() => (isPossible ? machine.start() : undefined));
  afterAll(() => machine.stop());

  // runs only as root, because it makes a machine of its own
  it.runIf(isPossible)('leads from install.sh to a restored copy', async () => {
    const begin = `mkdir -p ${FOLDER} && perl -e '${ADDRESS}' && cd ${root} && (setsid ${process.execPath} test/install/neighbours.ts ${FOLDER} >${FOLDER}/log 2>&1 </dev/null &)`;
    const begun = machine.type(begin);
    expect(begun, begun.stderr).toMatchObject({ status: 0 });
    await vi.waitFor(() => expect(machine.type(`cat ${FOLDER}/ready`).status).toBe(0), {
      timeout: 60_000,
      interval: 200,
    });
    const walked = machine.type(`sh ${root}/test/install/new-sysadmin.sh ${FOLDER}`, '', 300_000);
    expect(
      walked,
      `${walked.stdout}${walked.stderr}${machine.type(`tail -20 /var/lib/service.log ${FOLDER}/log`).stdout}`,
    ).toMatchObject({ status: 0 });
    expect(walked.stdout).toMatch(/^== done$/m);
  });
});
