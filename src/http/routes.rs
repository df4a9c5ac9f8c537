//! Every path and method.

use std::fmt::Display;

use actix_web::http::Method;
use actix_web::web::{self, ServiceConfig};
use actix_web::{FromRequest, Handler, HttpRequest, Resource, guard};

use super::error::{Code, Problem};
use super::{
    billing_periods, calendars, comparisons, coverage, customers, event_lists, evidence, imports, inspect,
    meter_points, plans, price_series, schemas, service, usage, usage_revisions,
};

/// The whole table.
pub fn routes(config: &mut ServiceConfig) {
    at("/livez").get(service::livez).into(config);
    at("/readyz").get(service::readyz).into(config);
    at("/v1/config").get(service::config).into(config);

    at("/v1/customers").get(customers::list).into(config);
    at("/v1/customers/{id}").get(customers::get).put(customers::put).into(config);
    at("/v1/customers/{id}/usage").get(usage::get).post(usage::import).into(config);
    at("/v1/customers/{id}/usage/coverage").get(coverage::get).into(config);
    at("/v1/customers/{id}/usage/revisions").get(usage_revisions::list).into(config);
    at("/v1/customers/{id}/usage/revisions/{revision}").get(usage_revisions::get).into(config);

    at("/v1/imports").get(imports::list).post(meter_points::import).into(config);
    at("/v1/imports/{id}").get(imports::get).into(config);
    at("/v1/imports/{id}/meter-points").get(meter_points::list).into(config);
    at("/v1/imports/{id}/revert").post(imports::revert).into(config);

    at("/v1/usage/inspect").post(inspect::inspect).into(config);

    at("/v1/plans").get(plans::list).into(config);
    // A plan may be called "validate": only POST means the check.
    at("/v1/plans/validate").post(plans::validate).only_its_methods().into(config);
    at("/v1/plans/{id}").get(plans::get).put(plans::put).into(config);
    at("/v1/plans/{id}/versions").get(plans::versions).into(config);
    at("/v1/plans/{id}/versions/{version}").get(plans::version).into(config);

    at("/v1/schemas/plan").get(schemas::plan).into(config);

    at("/v1/billing-periods").get(billing_periods::list).into(config);
    at("/v1/billing-periods/{id}").get(billing_periods::get).put(billing_periods::put).into(config);

    at("/v1/calendars").get(calendars::list).into(config);
    at("/v1/calendars/{id}").get(calendars::get).put(calendars::put).into(config);
    at("/v1/calendars/{id}/versions").get(calendars::versions).into(config);

    at("/v1/price-series").get(price_series::list).into(config);
    at("/v1/price-series/{id}").get(price_series::get).put(price_series::put).into(config);
    at("/v1/price-series/{id}/versions").get(price_series::versions).into(config);

    at("/v1/event-lists").get(event_lists::list).into(config);
    at("/v1/event-lists/{id}").get(event_lists::get).put(event_lists::put).into(config);
    at("/v1/event-lists/{id}/versions").get(event_lists::versions).into(config);

    at("/v1/comparisons").get(comparisons::list).post(comparisons::compare).into(config);
    at("/v1/comparisons/as-of").get(comparisons::as_of).into(config);
    at("/v1/comparisons/{id}").get(comparisons::get).into(config);
    at("/v1/comparisons/{id}/supersede").post(comparisons::supersede).into(config);
    at("/v1/comparisons/{id}/history").get(comparisons::history).into(config);
    at("/v1/comparisons/{id}/diff").get(comparisons::diff).into(config);
    at("/v1/comparisons/{id}/evidence").get(evidence::get).into(config);

    config.default_service(web::to(no_such_path));
}

async fn no_such_path(request: HttpRequest) -> Result<&'static str, Problem> {
    Err(Problem::new(Code::NoSuchPath, format!("there is nothing at {}", request.path())))
}

/// One path and its methods; any other method is 405 with `Allow`.
struct Path {
    resource: Resource,
    methods: Vec<Method>,
    is_shared: bool,
}

fn at(path: &str) -> Path {
    Path { resource: web::resource(path.to_owned()), methods: Vec::new(), is_shared: false }
}

macro_rules! method {
    ($name:ident, $method:ident) => {
        fn $name<F, Args>(mut self, handler: F) -> Self
        where
            F: Handler<Args>,
            Args: FromRequest + 'static,
            F::Output: actix_web::Responder + 'static,
        {
            self.methods.push(Method::$method);
            self.resource = self.resource.route(web::$name().to(handler));
            self
        }
    };
}

impl Path {
    /// GET, and HEAD: the same head without the body (RFC 9110, section 9.3.2).
    fn get<F, Args>(mut self, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: actix_web::Responder + 'static,
    {
        self.methods.extend([Method::GET, Method::HEAD]);
        let either = guard::Any(guard::Get()).or(guard::Head());
        self.resource = self.resource.route(web::route().guard(either).to(handler));
        self
    }

    method!(put, PUT);
    method!(post, POST);

    /// Leaves every other method to the paths that come later.
    fn only_its_methods(mut self) -> Self {
        self.is_shared = true;
        self
    }

    fn into(self, config: &mut ServiceConfig) {
        let Self { mut resource, methods, is_shared } = self;
        if is_shared {
            let method = methods.into_iter().next().expect("a shared path has one method");
            resource = resource.guard(guard::fn_guard(move |context| context.head().method == method));
        } else {
            let allowed = methods.iter().map(|method| -> &dyn Display { method });
            let allowed = itertools::join(allowed, ", ");
            resource = resource.default_service(web::to(move |request: HttpRequest| {
                let allowed = allowed.clone();
                async move {
                    let detail = format!("{} takes {allowed}, not {}", request.path(), request.method());
                    Err::<&'static str, _>(Problem::new(Code::MethodNotAllowed, detail).allowing(&allowed))
                }
            }));
        }
        config.service(resource);
    }
}
