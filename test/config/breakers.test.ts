import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/platform/config/index.ts';
import { findFaults, loadToml } from './config-files.ts';

describe('the settings of circuit breakers', () => {
  it('limit marketing mail only by default', () => {
    const { breakers } = loadConfig({ env: {} }).config;
    expect(breakers).toMatchObject({ enabled: true, transactional: false, window_hours: 24, pause_minutes: 60 });
  });

  it.each([
    [
      'complaint_slow_percent = 0.5',
      'breakers.complaint_pause_percent is 0.3; it must be at least breakers.complaint_slow_percent (0.5)',
    ],
    [
      'bounce_pause_percent = 4',
      'breakers.bounce_pause_percent is 4; it must be at least breakers.bounce_slow_percent (5)',
    ],
    ['window_hours = 73', 'breakers.window_hours must be'],
    ['complaints_min = 2', 'breakers.complaints_min must be'],
    ['bounces_min = 2', 'breakers.bounces_min must be'],
    ['pause_minutes = 1441', 'breakers.pause_minutes must be'],
    ['slow_messages_per_minute = 0', 'breakers.slow_messages_per_minute must be'],
    ['transactional = "yes"', 'breakers.transactional must be'],
  ])('stop the start with a value that cannot be used: %s', (line, fault) => {
    expect(findFaults(() => loadToml(`[breakers]\n${line}`)).join('\n')).toContain(fault);
  });
});
