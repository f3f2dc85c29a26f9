import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { scratchFolder } from '../rig/scratch.ts';
import { startScene } from '../rig/scene.ts';
import { describePeers } from './peers.ts';

const folder = fileURLToPath(new URL('../../monitoring/', import.meta.url));
const read = (file: string): string => readFileSync(path.join(folder, file), 'utf8');
const promtool = (...args: string[]) => promisify(execFile)('promtool', args, { cwd: folder });

interface Rules {
  groups: { rules: { alert: string; expr: string }[] }[];
}
interface RuleTests {
  tests: { name: string; alert_rule_test: { alertname: string; exp_alerts: object[] }[] }[];
}
interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[];
}

const alerts = (parse(read('alerts.yml')) as Rules).groups.flatMap(({ rules }) => rules);
const panels = (JSON.parse(read('dashboard.json')) as Dashboard).panels;

describePeers('the files for Prometheus and Grafana', ['promtool'], () => {
  it('contain alerts that fire on their faults, and none that fires on a healthy machine', async () => {
    const { tests } = parse(read('alerts.test.yml')) as RuleTests;
    const tried = tests.flatMap((one) => one.alert_rule_test);
    const names = alerts.map(({ alert }) => alert).toSorted();
    const fired = tried.filter(({ exp_alerts: expected }) => expected.length > 0).map(({ alertname }) => alertname);
    const silent = tried.filter(({ exp_alerts: expected }) => expected.length === 0).map(({ alertname }) => alertname);
    expect([...new Set(fired)].toSorted()).toEqual(names);
    expect(silent.toSorted()).toEqual(names);
    expect((await promtool('test', 'rules', 'alerts.test.yml')).stdout).toContain('SUCCESS');
  });

  it('contain dashboard queries that can be parsed', async () => {
    const file = path.join(scratchFolder('rasket-dashboard-'), 'queries.yml');
    const rules = panels.flatMap(({ targets }) => targets).map(({ expr }, n) => ({ record: `panel:query:${n}`, expr }));
    expect(rules.length).toBeGreaterThan(20);
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    const { stdout } = await promtool('check', 'rules', file);
    expect(stdout).toContain('SUCCESS');
  });

  it('use metrics that a server exports, in valid Prometheus format', async () => {
    await using scene = await startScene({ roles: ['http', 'delivery', 'receiving'] });
    const text = await (await fetch(`${scene.url}/metrics`)).text();
    const shown = new Set(
      [...text.matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name = '', type]) => formatNames(name, type)),
    );
    const asked = [
      ...alerts.map(({ expr }) => expr),
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ];
    const names = new Set(asked.flatMap((expr) => expr.match(/\b(?:rasket|process|nodejs)_\w+/g) ?? []));
    expect([...names].filter((name) => !shown.has(name))).toEqual([]);
    const checked = promisify(execFile)('promtool', ['check', 'metrics']);
    checked.child.stdin?.end(text);
    expect((await checked.catch((fault: { stdout: string; stderr: string }) => fault)).stderr).not.toMatch(/rasket_/);
  });
});

const formatNames = (name: string, type: string | undefined): string[] =>
  type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
