// A DynamoDB endpoint for tests: dynamo_gateway with a PostgreSQL server of its own, in a folder that goes with it.
'use strict';

const { spawn } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { text } = require('node:stream/consumers');

// This shell has the gateway as a child, and ends it and removes the folder when its standard input ends: by stop(), or
// when this process ends, however it does.  The gateway closes standard output when it has told where it is.
const script = `"$0" --embedded "$@" & exec >&-; read -r _; kill $! 2>/dev/null
wait $!; status=$?; [ $status = 0 ] || tail -n 20 "$1/log" >&2 2>/dev/null
rm -rf "$1"; exit $status`;

exports.start = async ({ program = process.env.DYNAMO_GATEWAY || 'dynamo_gateway', settings = {} } = {}) => {
  // the gateway makes the folder, as the user that it becomes
  const folder = join(tmpdir(), `dynamo-table-${randomBytes(8).toString('hex')}`);
  const flags = Object.entries({ listen: '127.0.0.1:0', log_level: 'error', ...settings }).map(([name, value]) => `--${name}=${value}`);
  // detached: an interrupt of the terminal is for us
  const shell = spawn('/bin/sh', ['-c', script, program, folder, ...flags], { detached: true });
  const ended = once(shell, 'close');
  const handles = [shell, shell.stdin, shell.stderr];
  let said = '';
  shell.stderr.on('data', data => { said += data; });

  const stop = async () => {
    for (const handle of handles) handle.ref();
    shell.stdin.end();
    return (await ended)[0];
  };
  const env = Object.fromEntries(Array.from((await text(shell.stdout)).matchAll(/^(\w+)=(.*)$/gm), line => line.slice(1)));
  if (!env.AWS_ENDPOINT_URL) {
    const status = await stop();
    throw new Error(status === 127 ? `"${program}" is not found: install dynamo_gateway, or name it by the option "program" or by DYNAMO_GATEWAY`
      : `"${program}" did not start:\n${said}`);
  }
  shell.stderr.removeAllListeners('data').on('data', data => process.stderr.write(data));
  // a program that does not call stop() ends nevertheless
  for (const handle of handles) handle.unref();
  return {
    endpoint: env.AWS_ENDPOINT_URL,
    region: env.AWS_REGION,
    credentials: { accessKeyId: env.AWS_ACCESS_KEY_ID, secretAccessKey: env.AWS_SECRET_ACCESS_KEY },
    env,
    stop: async () => { await stop(); },
  };
};
