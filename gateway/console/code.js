// Requests as code: in JSON, as boto3, as the AWS SDK for JavaScript, and in SQL.  What is typed gets into it as a literal of the
// language.  A literal of JSON is one of Python and of JavaScript.
import { ENDPOINT } from './client.js';
import { h, visible } from './dom.js';

const WIDTH = 100;
const JSON_TEXT = { key: name => name, constants: {} };
const PYTHON = { key: name => name, constants: { true: 'True', false: 'False', null: 'None' }, bytes: 'bytes' };
// there this name alone would set the prototype
const JAVASCRIPT = { key: name => (name === '"__proto__"' ? `[${name}]` : name), constants: {}, bytes: 'Uint8Array.from' };

// Base64 of a value, which programs have as bytes.
class Bytes {
  constructor(text) {
    this.numbers = [...atob(text)].map(c => c.charCodeAt(0));
  }
}

const mapped = (object, change) => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));

// A value of DynamoDB JSON with its bytes.
function valueWithBytes(value) {
  const [type, data] = Object.entries(value)[0];
  return { [type]: type === 'B' ? new Bytes(data) : type === 'BS' ? data.map(text => new Bytes(text))
    : type === 'L' ? data.map(valueWithBytes) : type === 'M' ? mapped(data, valueWithBytes) : data };
}

const string = text => visible(JSON.stringify(text));

function literal(value, language, indent = '') {
  if (value instanceof Bytes) return `${language.bytes}([${value.numbers.join(', ')}])`;
  if (typeof value === 'string') return string(value);
  if (typeof value !== 'object' || value === null) return language.constants[value] ?? String(value);
  const inner = `${indent}  `;
  const [begin, end, members] = Array.isArray(value) ? ['[', ']', value.map(one => literal(one, language, inner))]
    : ['{', '}', Object.entries(value).map(([name, one]) => `${language.key(string(name))}: ${literal(one, language, inner)}`)];
  const line = `${begin}${members.join(', ')}${end}`;
  if (line.length + indent.length <= WIDTH && !line.includes('\n')) return line;
  return `${begin}\n${members.map(member => inner + member).join(',\n')}\n${indent}${end}`;
}

// The request with bytes where its members have values of items.
function programs(request) {
  const changed = { ...request };
  for (const name of ['ExpressionAttributeValues', 'ExclusiveStartKey']) if (request[name]) changed[name] = mapped(request[name], valueWithBytes);
  if (request.Parameters) changed.Parameters = request.Parameters.map(valueWithBytes);
  return changed;
}

const camel = operation => operation[0].toLowerCase() + operation.slice(1);
const snake = operation => camel(operation).replace(/[A-Z]/g, c => `_${c.toLowerCase()}`);

function python(operation, request) {
  const members = Object.entries(programs(request)).map(([name, value]) => `  ${name}=${literal(value, PYTHON, '  ')},\n`);
  return `import boto3\n\nclient = boto3.client("dynamodb", endpoint_url=${string(ENDPOINT)})\n`
    + `answer = client.${snake(operation)}(\n${members.join('')})\nprint(answer)\n`;
}

function javascript(operation, request) {
  return `import { DynamoDB } from "@aws-sdk/client-dynamodb";\n\nconst client = new DynamoDB({ endpoint: ${string(ENDPOINT)} });\n`
    + `const answer = await client.${camel(operation)}(${literal(programs(request), JAVASCRIPT)});\nconsole.log(answer);\n`;
}

// Text of SQL, between dollars where a quote or a backslash would have to be doubled.
function sqlText(text) {
  if (!/['\\]/.test(text)) return `'${text}'`;
  let tag = 'q';
  while (text.includes(`$${tag}`)) tag += 'q';
  return `$${tag}$${text}$${tag}$`;
}

// The functions that do what an operation does, with the members that come first, and the arguments that the others are.
const FUNCTIONS = {
  Query: ['dyn_query_page', 'TableName', 'KeyConditionExpression'],
  Scan: ['dyn_scan_page', 'TableName'],
  ExecuteStatement: ['dyn_execute_page', 'Statement'],
};
const ARGUMENTS = { IndexName: 'index_name', FilterExpression: 'filter', ProjectionExpression: 'projection', ExpressionAttributeNames: 'names',
  ExpressionAttributeValues: 'vals', Parameters: 'parameters', ScanIndexForward: 'forward',
  Limit: 'page_size', ExclusiveStartKey: 'start_key', NextToken: 'next_token' };

function sql(operation, request) {
  const value = given => (typeof given === 'string' ? sqlText(given)
    : typeof given === 'object' ? sqlText(literal(given, JSON_TEXT, '    ')) : String(given));
  if (operation === 'UpdateTable')
    return `SELECT dyn_enable_stream(${value(request.TableName)}, ${value(request.StreamSpecification.StreamViewType)});\n`;
  // jsonb and text have no U+0000, which a request may have
  if (JSON.stringify([request.ExpressionAttributeNames, request.Statement]).includes('\\u0000'))
    return `SELECT dyn_request('${operation}', ${value(request)});\n`;
  const [name, ...first] = FUNCTIONS[operation];
  const rest = Object.keys(ARGUMENTS).filter(member => Object.hasOwn(request, member)).map(member => `${ARGUMENTS[member]} => ${value(request[member])}`);
  return `SELECT * FROM ${name}(${[...first.map(member => value(request[member])), ...rest].join(',\n    ')});\n`;
}

const FORMS = { JSON: (operation, request) => `${literal(request, JSON_TEXT)}\n`, boto3: python, JavaScript: javascript, SQL: sql };

// A request in each form: an element for the page, and how it is set.
export function codePanel() {
  const shown = Object.keys(FORMS).map(form => [form, h('pre', { tabIndex: 0, 'aria-label': form })]);
  const element = h('div', { className: 'code', hidden: true }, shown.map(([form, text], n) =>
    h('details', { name: 'code', open: n === 0 }, h('summary', {}, form), text)));
  return {
    element,
    set(operation, request) {
      element.hidden = false;
      for (const [form, text] of shown) text.textContent = FORMS[form](operation, request);
    },
  };
}
