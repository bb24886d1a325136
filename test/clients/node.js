// Parameters through node-pg: text without a type, and objects, which it makes JSON text of.
const fs = require('fs');
const { Client } = require('pg');

async function main() {
  const spec = JSON.parse(fs.readFileSync(process.argv[2]));
  const client = new Client();
  let failures = 0;
  const report = (ok, what, got) => {
    console.log(`${ok ? 'ok' : 'not ok'} - node-pg: ${what}${ok ? '' : `: ${got}`}`);
    if (!ok) failures++;
  };
  const run = async (what, parameter, expression, expected) => {
    try {
      const result = await client.query(`INSERT INTO params VALUES (${expression}) RETURNING item`, [parameter]);
      report(result.rows[0].item === expected, what, result.rows[0].item);
    } catch (e) {
      report(expected === 'hint' && e.hint, what, e);
    }
  };
  await client.connect();
  for (const [type, text, expression, expected] of spec.cases) {
    const typed = type === 'unknown' ? expression : expression.replace('$1', `$1::${type}`);
    await run(`${spec[text]} as ${type} ${expression}`, spec[text], typed, spec[expected] || expected);
  }
  await run('object with DynamoDB JSON', JSON.parse(spec.typed), '$1', spec.item);
  await run('plain object', JSON.parse(spec.plain), '$1', 'hint');
  await run('plain object as jsonb', JSON.parse(spec.plain), '$1::jsonb', spec.item);
  const statement = async (what, parameters, expected) => {
    const result = await client.query('SELECT dyn_execute($1, $2) AS item', [what, parameters]);
    const got = result.rows.map((row) => row.item).join('');
    report(got === expected, `${what} ${JSON.stringify(parameters)}`, got);
  };
  for (const [what, parameters, expected] of spec.statements) await statement(what, parameters, expected);
  // an array of objects, of which it makes the text form of an array
  for (const [what, parameters, expected] of spec.statements) await statement(what, JSON.parse(parameters), expected);
  await client.end();
  process.exitCode = failures ? 1 : 0;
}

main();
